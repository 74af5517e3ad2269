//! The life of connections: persistence, its limit, and what happens out of order.

use http1::*;

/// Begins a request made of `line` and `fields`.
fn begin(persistence: &mut Persistence, line: &str, fields: &str) {
    let input = format!("{line}\r\nHost: a\r\n{fields}\r\n");
    let mut parser = HeadParser::new();
    parser.advance(input.as_bytes(), &HeadLimits::default()).expect("a good head");
    let request = parser.request(input.as_bytes());
    let (framing, keep_alive) = framing(&request, 0).expect("a good request");
    persistence.begin(framing.body, keep_alive);
}

fn get(persistence: &mut Persistence) {
    begin(persistence, "GET / HTTP/1.1", "");
}

#[test]
fn a_connection_is_kept_until_its_limit() {
    let mut persistence = Persistence::new();
    assert!(!persistence.is_idle());
    // As measured on httpd with MaxKeepAliveRequests 2: max=2, max=1, then close.
    for remaining in [2, 1] {
        get(&mut persistence);
        let persist = persistence.decide(2, false, false);
        assert_eq!(persist, Persist::Keep { named: false, remaining: Some(remaining) });
        assert_eq!(persistence.finish(), AfterResponse::Idle);
        assert!(persistence.is_idle());
    }
    get(&mut persistence);
    assert_eq!(persistence.decide(2, false, false), Persist::Close);
    assert_eq!(persistence.finish(), AfterResponse::Close(CloseReason::KeepAliveLimit));
    assert_eq!(persistence.requests(), 3);
}

#[test]
fn no_limit() {
    let mut persistence = Persistence::new();
    for _ in 0..1000 {
        begin(&mut persistence, "GET / HTTP/1.0", "Connection: keep-alive\r\n");
        let persist = persistence.decide(0, false, false);
        assert_eq!(persist, Persist::Keep { named: true, remaining: None });
        assert_eq!(persistence.finish(), AfterResponse::Idle);
    }
}

#[test]
fn reasons_to_close() {
    let rows: &[(&str, &str, bool, bool, CloseReason)] = &[
        ("HTTP/1.1", "Connection: close\r\n", false, false, CloseReason::ClientAsked),
        ("HTTP/1.0", "", false, false, CloseReason::ClientAsked),
        ("HTTP/1.1", "", true, false, CloseReason::Draining),
        ("HTTP/1.1", "", false, true, CloseReason::ServerChose),
    ];
    for (version, fields, draining, must_close, reason) in rows {
        let mut persistence = Persistence::new();
        begin(&mut persistence, &format!("GET / {version}"), fields);
        assert_eq!(persistence.decide(100, *draining, *must_close), Persist::Close);
        assert_eq!(persistence.finish(), AfterResponse::Close(*reason));
        assert_eq!(persistence.close_reason(), Some(*reason));
        assert!(!reason.explain().is_empty());
    }
}

#[test]
fn b24_an_unread_body_closes_and_a_read_one_does_not() {
    let post = |persistence: &mut Persistence| {
        begin(persistence, "POST / HTTP/1.1", "Content-Length: 5\r\n");
        assert!(persistence.body_pending());
        assert!(matches!(persistence.decide(0, false, false), Persist::Keep { .. }));
    };
    let mut persistence = Persistence::new();
    post(&mut persistence);
    persistence.body_done();
    assert_eq!(persistence.finish(), AfterResponse::Idle);
    post(&mut persistence);
    assert_eq!(persistence.finish(), AfterResponse::Close(CloseReason::UnreadBody));
}

#[test]
fn the_first_reason_to_close_stays() {
    let mut persistence = Persistence::new();
    get(&mut persistence);
    assert_eq!(
        persistence.close(CloseReason::WriteTimeout),
        AfterResponse::Close(CloseReason::WriteTimeout)
    );
    assert_eq!(
        persistence.close(CloseReason::IoError),
        AfterResponse::Close(CloseReason::WriteTimeout)
    );
    // After a close everything else is ignored.
    persistence.body_done();
    assert_eq!(persistence.decide(0, false, false), Persist::Close);
    assert_eq!(persistence.finish(), AfterResponse::Close(CloseReason::WriteTimeout));
    get(&mut persistence);
    assert_eq!(persistence.close_reason(), Some(CloseReason::WriteTimeout));
}

/// Calls in a wrong order, with a name for the failure message.
type Disorder = (&'static str, fn(&mut Persistence));

/// In a debug build disorder stops the test run; in a release build it closes the connection.
#[test]
fn disorder_never_keeps_a_connection() {
    let calls: [Disorder; 3] = [
        ("finish before begin", |persistence| {
            persistence.finish();
        }),
        ("begin twice", |persistence| {
            get(persistence);
            get(persistence);
        }),
        ("finish before decide", |persistence| {
            get(persistence);
            persistence.finish();
        }),
    ];
    for (name, call) in calls {
        let outcome = std::panic::catch_unwind(|| {
            let mut persistence = Persistence::new();
            call(&mut persistence);
            persistence.close_reason()
        });
        match outcome {
            Err(_) if cfg!(debug_assertions) => {}
            Err(_) => panic!("{name} panics in a release build"),
            Ok(reason) => assert_eq!(reason, Some(CloseReason::Disorder), "{name}"),
        }
    }
}

#[test]
fn a_connection_is_small() {
    assert!(size_of::<Persistence>() <= 16);
}
