//! STUB, replaced by the merge.
use crate::url::Url;
use http1::Asked;
use std::time::Duration;
pub struct Plan { pub entries: Vec<Entry> }
pub struct Think;
pub struct Entry { pub name: String, pub url: Url, pub weight: u32, pub think: Option<Think>, pub expect: Option<Vec<u16>>, bytes: Vec<u8> }
impl Entry {
    pub fn get(url: Url) -> Self { let bytes = format!("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Trivet\r\n\r\n", url.target, url.authority()).into_bytes(); Self { name: format!("GET {url}"), url, weight: 1, think: None, expect: None, bytes } }
    pub fn fixed(&self) -> Option<&[u8]> { Some(&self.bytes) }
    pub fn write(&self, _: &mut Values, _: Option<&crate::cookies::Jar>, out: &mut Vec<u8>) { out.extend_from_slice(&self.bytes) }
    pub fn asked(&self) -> Asked { Asked::Other }
}
pub struct Cursor(usize);
impl Cursor { pub fn pause(&mut self, _: &Think) -> Duration { Duration::ZERO } }
pub struct Values;
impl Plan {
    pub fn next(&self, c: &mut Cursor) -> usize { c.0 = (c.0 + 1) % self.entries.len(); c.0 }
    pub fn cursor(&self, user: u32, _seed: u64) -> Cursor { Cursor(user as usize) }
    pub fn values(&self, _user: u32, _seed: u64) -> Values { Values }
}
