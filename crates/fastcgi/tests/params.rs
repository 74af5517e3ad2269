//! Variables: what is sent of them, and in which records.

use fastcgi::*;
use message::limits;

const MOST: usize = limits::FASTCGI_PARAMS_RECORD_BYTES;

/// Content lengths of the records of variables, the one that ends them included.
fn records(request: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut rest = &request[16..];
    while let [1, 4, 0, 1, high, low, 0, 0, behind @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        lengths.push(length);
        rest = &behind[length..];
    }
    assert!(rest.is_empty(), "{}", rest.escape_ascii());
    lengths
}

#[test]
fn a_request_begins_with_one_write() {
    let mut params = Params::new(true);
    params.add(b"A", b"1").unwrap();
    params.add(b"EMPTY", b"").unwrap();
    let (request, _) = params.finish();
    let wanted = b"\x01\x01\0\x01\0\x08\0\0\0\x01\x01\0\0\0\0\0\
                   \x01\x04\0\x01\0\x0b\0\0\x01\x01A1\x05\0EMPTY\
                   \x01\x04\0\x01\0\0\0\0";
    assert_eq!(request.escape_ascii().to_string(), wanted.escape_ascii().to_string());
    let (request, _) = Params::new(false).finish();
    assert_eq!(request, b"\x01\x01\0\x01\0\x08\0\0\0\x01\0\0\0\0\0\0\x01\x04\0\x01\0\0\0\0");
}

#[test]
fn lengths_take_four_bytes_from_128_on() {
    for (length, prefix) in [(127, &[1, 127][..]), (128, &[1, 0x80, 0, 0, 128])] {
        let mut params = Params::new(false);
        params.add(b"A", &vec![b'x'; length]).unwrap();
        let (request, _) = params.finish();
        assert_eq!(&request[24..24 + prefix.len()], prefix);
        assert_eq!(records(&request), [prefix.len() + 1 + length, 0]);
    }
}

#[test]
fn a_record_is_filled_to_its_bound_and_no_pair_is_divided() {
    // With two lengths and the name each of these takes 1024 bytes.
    let value = vec![b'x'; 1024 - 6];
    let mut params = Params::new(false);
    for _ in 0..MOST / 1024 {
        params.add(b"A", &value).unwrap();
    }
    let (request, _) = params.clone().finish();
    assert_eq!(records(&request), [MOST, 0]);
    params.add(b"B", b"").unwrap();
    let (request, _) = params.finish();
    assert_eq!(records(&request), [MOST, 3, 0]);

    // One byte is left, and the smallest pair has two.
    let mut params = Params::new(false);
    params.add(b"A", &vec![b'x'; MOST - 7]).unwrap();
    params.add(b"", b"").unwrap();
    let (request, _) = params.finish();
    assert_eq!(records(&request), [MOST - 1, 2, 0]);
}

#[test]
fn a_variable_that_fits_into_no_record_is_left_out() {
    let mut params = Params::new(false);
    params.add(b"A", b"1").unwrap();
    let longest = vec![b'x'; MOST - 6];
    params.add(b"B", &longest).unwrap();
    let too_long = vec![b'x'; MOST - 5];
    let refused = params.add(b"C", &too_long).unwrap_err();
    assert_eq!(refused.message(b"C"), b"couldn't encode envvar 'C' in 16384 bytes");
    assert_eq!(DoesNotFit::ID, 2536);
    params.add(b"D", b"1").unwrap();
    let (request, _) = params.finish();
    assert_eq!(records(&request), [4, MOST, 4, 0]);
}

#[test]
fn a_request_goes_on_where_its_template_ends() {
    let mut template = Params::new(true);
    template.add(b"SERVER_NAME", b"a").unwrap();
    let mut whole = template.clone();
    whole.add(b"REQUEST_METHOD", b"GET").unwrap();
    for old in [Vec::new(), b"of another request".to_vec(), vec![0; 100_000]] {
        let mut params = Params::from_template(&template, old);
        params.add(b"REQUEST_METHOD", b"GET").unwrap();
        let (request, _) = params.finish();
        assert_eq!(request, whole.clone().finish().0);
        assert_eq!(records(&request).len(), 2);
    }
}

#[test]
fn a_list_that_ends_within_a_pair_is_malformed() {
    let rows: &[(&[u8], usize)] =
        &[(b"", 0), (b"\x01\x01AB", 1), (b"\0\0", 1), (b"\x80\0\0\x01\x80\0\0\0A", 1)];
    for (list, pairs) in rows {
        let read: Result<Vec<_>, _> = Pairs::new(list).collect();
        assert_eq!(read.map(|read| read.len()), Ok(*pairs), "{}", list.escape_ascii());
    }
    let rows: &[&[u8]] = &[
        b"\x01",
        b"\x01\x01A",
        b"\x01\x01AB\x02\0C",
        b"\x80\0\0",
        b"\xff\xff\xff\xff\xff\xff\xff\xffA",
        b"\x01\xff\xff\xff\xffA",
    ];
    for list in rows {
        let last = Pairs::new(list).last();
        assert_eq!(last, Some(Err(MalformedPairs)), "{}", list.escape_ascii());
        assert!(Pairs::new(list).count() <= 2);
    }
}
