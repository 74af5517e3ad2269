//! Handing open files to a process that was forked before they were opened.

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Files of one message. The kernel takes 253 (SCM_MAX_FD).
const FILES_PER_MESSAGE: usize = 250;

/// Bytes of the number that goes with the files.
const NUMBER_BYTES: usize = 8;

/// One end. Neither sending nor receiving ever waits.
pub struct Channel {
    socket: OwnedFd,
}

impl Channel {
    /// Two ends of a channel.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn pair() -> io::Result<(Self, Self)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self { socket: one }, Self { socket: other }))
    }

    /// Send files, each with its number.
    ///
    /// # Errors
    /// When the other end is gone, or does not read.
    pub fn send(&self, files: &[(usize, File)]) -> io::Result<()> {
        for batch in files.chunks(FILES_PER_MESSAGE) {
            let numbers = batch.iter().flat_map(|row| (row.0 as u64).to_ne_bytes());
            let numbers: Vec<u8> = numbers.collect();
            let descriptors: Vec<BorrowedFd<'_>> = batch.iter().map(|row| row.1.as_fd()).collect();
            let mut space =
                [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_PER_MESSAGE))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            let flags = SendFlags::NOSIGNAL;
            sendmsg(&self.socket, &[IoSlice::new(&numbers)], &mut ancillary, flags)?;
        }
        Ok(())
    }

    /// What has arrived.
    pub fn receive(&self) -> Vec<(usize, File)> {
        let mut files = Vec::new();
        while let Ok(batch) = self.receive_batch()
            && !batch.is_empty()
        {
            files.extend(batch);
        }
        files
    }

    fn receive_batch(&self) -> io::Result<Vec<(usize, File)>> {
        let mut bytes = [0; FILES_PER_MESSAGE * NUMBER_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_PER_MESSAGE))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(&self.socket, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let (numbers, _) = bytes[..received.bytes].as_chunks::<NUMBER_BYTES>();
        let numbers = numbers.iter().map(|number| u64::from_ne_bytes(*number));
        let numbers = numbers.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        Ok(numbers.zip(descriptors.flatten().map(File::from)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn files_arrive_with_their_numbers_however_many_there_are() {
        let (one, other) = Channel::pair().unwrap();
        assert!(other.receive().is_empty());
        let file = || {
            let path = format!("/proc/self/fd/{}", {
                let file = rustix::fs::memfd_create(c"test", rustix::fs::MemfdFlags::CLOEXEC);
                std::os::fd::IntoRawFd::into_raw_fd(file.unwrap())
            });
            File::options().read(true).write(true).open(path).unwrap()
        };
        let sent: Vec<(usize, File)> = (0..600).map(|number| (number * 3, file())).collect();
        for (number, file) in &sent {
            (&*file).write_all(number.to_string().as_bytes()).unwrap();
        }
        one.send(&sent).unwrap();
        let received = other.receive();
        assert_eq!(received.len(), 600);
        for (number, mut file) in received {
            let mut text = String::new();
            file.rewind().unwrap();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, number.to_string());
        }
        drop(other);
        assert!(one.send(&sent).is_err());
    }
}
