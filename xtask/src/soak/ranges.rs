//! The acts that ask for parts of the large file.

use super::client::{SoakResponse, find};
use super::site::BIG;
use super::visit::{Done, SoakVisit, check, get, wrong};

/// One range: from the front, open, from the back, or beyond the end.
pub(super) fn one(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let all = &visit.site.big;
    for _ in 0..visit.random.within(1, 4) {
        let first = visit.random.below(all.len());
        let last = visit.random.within(first, (first + 100_000).min(all.len() - 1));
        let back = visit.random.within(1, 100_000);
        let (value, part) = match visit.random.below(4) {
            0 => (format!("{}-", all.len() - back), &all[all.len() - back..]),
            1 => (format!("-{back}"), &all[all.len() - back..]),
            2 => (format!("{}-", all.len()), &[][..]),
            _ => (format!("{first}-{last}"), &all[first..=last]),
        };
        let request = get(BIG, &format!("Range: bytes={value}\r\n"));
        let response = visit.ask(&mut connection, &request)?;
        match part {
            [] if response.status == 416 => {}
            [] => return Err(wrong(&request, "no 416 for a range beyond the end")),
            _ => check(&request, &response, 206, part)?,
        }
        if response.closes() {
            return connection.expect_end();
        }
    }
    Ok(())
}

/// Several ranges that do not touch each other, as `multipart/byteranges`.
pub(super) fn several(visit: &mut SoakVisit<'_>) -> Done {
    let mut connection = visit.open()?;
    let all = &visit.site.big;
    let mut bounds = Vec::new();
    let mut first = visit.random.below(1000);
    for _ in 0..visit.random.within(2, 8) {
        let last = first + visit.random.below(5000);
        bounds.push((first, last));
        first = last + visit.random.within(2, 300_000);
    }
    let specs: Vec<String> = bounds.iter().map(|(a, b)| format!("{a}-{b}")).collect();
    let request = get(BIG, &format!("Range: bytes={}\r\n", specs.join(",")));
    let response = visit.ask(&mut connection, &request)?;
    check_parts(&response, &bounds, all).map_err(|what| wrong(&request, &what))
}

/// RFC 9110 section 14.6: each part has its Content-Range and exactly these bytes, in order.
fn check_parts(
    response: &SoakResponse,
    bounds: &[(usize, usize)],
    all: &[u8],
) -> Result<(), String> {
    let kind = response.field("Content-Type").unwrap_or_default();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=");
    let boundary = boundary.filter(|_| response.status == 206).ok_or("no multipart answer")?;
    let mut rest = &response.body[..];
    for &(first, last) in bounds {
        let head_end = find(rest, b"\r\n\r\n").map(|at| at + 4);
        // An empty line may precede the first boundary, and then comes the head.
        let head_end = match head_end {
            Some(4) => find(&rest[4..], b"\r\n\r\n").map(|at| at + 8),
            other => other,
        };
        let head_end = head_end.ok_or("a part without a head")?;
        let head = String::from_utf8_lossy(&rest[..head_end]).to_ascii_lowercase();
        let range = format!("content-range: bytes {first}-{last}/{}\r\n", all.len());
        let delimiter = format!("\r\n--{boundary}\r\n");
        if !head.contains(&range) || !head.contains(&delimiter.to_ascii_lowercase()) {
            return Err(format!("the head of part {first}-{last} is {head:?}"));
        }
        let part = rest.get(head_end..head_end + last + 1 - first);
        if part != Some(&all[first..=last]) {
            return Err(format!("part {first}-{last} has wrong bytes"));
        }
        rest = &rest[head_end + last + 1 - first..];
    }
    let end = format!("\r\n--{boundary}--\r\n");
    if rest == end.as_bytes() { Ok(()) } else { Err("the last boundary is wrong".into()) }
}

#[cfg(test)]
mod tests {
    use super::super::visit::tests::response;
    use super::*;

    #[test]
    fn parts_are_checked_byte_for_byte() {
        let head = "206 Partial Content\r\nContent-Type: multipart/byteranges; boundary=B";
        let body = "\r\n--B\r\nContent-range: bytes 0-1/6\r\n\r\nab\r\n--B\r\n\
                    Content-range: bytes 4-4/6\r\n\r\ne\r\n--B--\r\n";
        let bounds = [(0, 1), (4, 4)];
        let verdict = |body: &str| check_parts(&response(head, body), &bounds, b"abcdef");
        assert_eq!(verdict(body), Ok(()));
        let wrong =
            [("ab\r\n", "xb\r\n"), ("4-4", "4-5"), ("--B--", "--C--"), ("--B\r\n", "B\r\n")];
        for (from, to) in wrong {
            assert!(verdict(&body.replacen(from, to, 1)).is_err(), "{from} as {to}");
        }
        assert!(check_parts(&response("200 OK", body), &bounds, b"abcdef").is_err());
    }
}
