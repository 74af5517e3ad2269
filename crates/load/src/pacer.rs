//! When: the one pure function that says how many users there are, or when a request is due.
