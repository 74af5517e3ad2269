//! How much of the error log the complaints of one program may take. Whose they are, how they are
//! worded and when there is room again is not known here.

/// httpd has no bound; a script that does nothing but complain would fill the disk.
const ROOM_BYTES: usize = Ration::MEBIBYTES << 20;

/// About what a line takes besides what it says.
const LINE_BYTES: usize = 100;

/// The room for complaints, and what was left out for want of it.
#[derive(Debug, Default)]
pub struct Ration {
    taken: usize,
    left_out: usize,
}

impl Ration {
    /// How much room a ration is, in MiB.
    pub const MEBIBYTES: usize = 1;

    /// Whether there is room for a line of so many bytes, which then takes it.
    pub fn takes(&mut self, length: usize) -> bool {
        self.taken = self.taken.saturating_add(length + LINE_BYTES);
        let fits = self.taken <= ROOM_BYTES;
        if !fits {
            self.left_out = self.left_out.saturating_add(length);
        }
        fits
    }

    /// Whether nothing was taken yet.
    pub fn is_whole(&self) -> bool {
        self.taken == 0
    }

    /// All of the room is there again; what was left out stays to be told.
    pub fn renew(&mut self) {
        self.taken = 0;
    }

    /// Whether something was left out that was not told.
    pub fn owes(&self) -> bool {
        self.left_out > 0
    }

    /// The bytes that were left out, to be told now; none once they were.
    pub fn settle(&mut self) -> Option<usize> {
        self.owes().then(|| std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_and_told_once() {
        let (mut ration, line) = (Ration::default(), 8000);
        let most = ROOM_BYTES / (line + LINE_BYTES);
        assert!(ration.is_whole() && ration.settle().is_none());
        assert_eq!((0..200).filter(|_| ration.takes(line)).count(), most);
        assert!(!ration.is_whole() && ration.owes());
        ration.renew();
        assert!(ration.is_whole() && ration.takes(line));
        assert_eq!(ration.settle(), Some((200 - most) * line));
        assert_eq!(ration.settle(), None);
    }
}
