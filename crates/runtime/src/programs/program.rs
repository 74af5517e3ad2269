//! A program that was asked for, as the serving process sees it: pipes, and how it goes.

use super::client::ManagerClient;
use super::command::ProgramCommand;
use super::report::ProgramReport;
use crate::sys;
use rustix::net::{RecvFlags, recv};
use rustix::pipe::{PipeFlags, pipe_with};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};

/// A program. Dropping it ends the program, if it has not ended already.
pub struct Program {
    control: AsyncFd<OwnedFd>,
    input: Option<Sender>,
    output: Receiver,
    errors: Receiver,
}

/// Which of its two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

impl ManagerClient {
    /// Command a program. It runs once [`Program::report`] says so. This waits while there are many
    /// requests before it, for as long as the caller lets it.
    ///
    /// # Errors
    /// When there is no manager any more, descriptors are used up, or the command is too long.
    pub async fn start(&self, command: &ProgramCommand) -> io::Result<Program> {
        let ends = || pipe_with(PipeFlags::CLOEXEC);
        let ((stdin, input), (output, stdout), (errors, stderr)) = (ends()?, ends()?, ends()?);
        for own in [&input, &output, &errors] {
            // Only this end: the program expects pipes that wait.
            let flags = rustix::fs::fcntl_getfl(own)? | rustix::fs::OFlags::NONBLOCK;
            rustix::fs::fcntl_setfl(own, flags)?;
        }
        let control = self.send(command, [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]).await?;
        Ok(Program {
            control: sys::watch(control)?,
            input: Some(Sender::from_owned_fd_unchecked(input)?),
            output: Receiver::from_owned_fd_unchecked(output)?,
            errors: Receiver::from_owned_fd_unchecked(errors)?,
        })
    }
}

impl Program {
    /// The next report about it: first whether it was started, at last how it has ended.
    ///
    /// # Errors
    /// When the manager is gone, and the program with it.
    pub async fn report(&mut self) -> io::Result<ProgramReport> {
        poll_fn(|context| self.poll_report(context)).await
    }

    /// The same for those who wait for more than this.
    pub fn poll_report(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ProgramReport>> {
        loop {
            let mut ready = ready!(self.control.poll_read_ready(context))?;
            let mut bytes = [0; 64];
            match recv(ready.get_inner(), &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Ok((length, _)) => {
                    let report = ProgramReport::decode(&bytes[..length]);
                    return Poll::Ready(report.ok_or_else(|| io::ErrorKind::InvalidData.into()));
                }
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Write what its standard input takes of `bytes`. It takes nothing once it is closed, on
    /// whichever side.
    pub fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.input {
            Some(input) => Pin::new(input).poll_write(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Let it see the end of its standard input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// Read what is there of a stream into `buffer`; ready with 0 at its end.
    pub fn poll_read(
        &mut self,
        stream: ProgramStream,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let pipe = match stream {
            ProgramStream::Output => &mut self.output,
            ProgramStream::Errors => &mut self.errors,
        };
        let mut buffer = ReadBuf::new(buffer);
        Pin::new(pipe).poll_read(context, &mut buffer).map_ok(|()| buffer.filled().len())
    }
}
