//! What: requests with their variables, order and weights.
