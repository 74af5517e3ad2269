//! The life of connections: persistence, its limit, and what happens out of order.

use http1::*;

/// Begins a request made of `line` and `fields`.
fn begin(connection: &mut Connection, line: &str, fields: &str) {
    let input = format!("{line}\r\nHost: a\r\n{fields}\r\n");
    let mut parser = HeadParser::new();
    parser.advance(input.as_bytes(), &HeadLimits::default()).expect("a good head");
    let request = parser.request(input.as_bytes());
    let (framing, keep_alive) = framing(&request, 0).expect("a good request");
    connection.begin(framing.body, keep_alive);
}

fn get(connection: &mut Connection) {
    begin(connection, "GET / HTTP/1.1", "");
}

#[test]
fn a_connection_is_kept_until_its_limit() {
    let mut connection = Connection::new();
    assert!(!connection.is_idle());
    // As measured on httpd with MaxKeepAliveRequests 2: max=2, max=1, then close.
    for remaining in [2, 1] {
        get(&mut connection);
        let persist = connection.decide(2, false, false);
        assert_eq!(persist, Persist::Keep { named: false, remaining: Some(remaining) });
        assert_eq!(connection.finish(), Next::Idle);
        assert!(connection.is_idle());
    }
    get(&mut connection);
    assert_eq!(connection.decide(2, false, false), Persist::Close);
    assert_eq!(connection.finish(), Next::Close(CloseReason::KeepAliveLimit));
    assert_eq!(connection.requests(), 3);
}

#[test]
fn no_limit() {
    let mut connection = Connection::new();
    for _ in 0..1000 {
        begin(&mut connection, "GET / HTTP/1.0", "Connection: keep-alive\r\n");
        let persist = connection.decide(0, false, false);
        assert_eq!(persist, Persist::Keep { named: true, remaining: None });
        assert_eq!(connection.finish(), Next::Idle);
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
        let mut connection = Connection::new();
        begin(&mut connection, &format!("GET / {version}"), fields);
        assert_eq!(connection.decide(100, *draining, *must_close), Persist::Close);
        assert_eq!(connection.finish(), Next::Close(*reason));
        assert_eq!(connection.close_reason(), Some(*reason));
        assert!(!reason.explain().is_empty());
    }
}

#[test]
fn b24_an_unread_body_closes_and_a_read_one_does_not() {
    let post = |connection: &mut Connection| {
        begin(connection, "POST / HTTP/1.1", "Content-Length: 5\r\n");
        assert!(connection.body_pending());
        assert!(matches!(connection.decide(0, false, false), Persist::Keep { .. }));
    };
    let mut connection = Connection::new();
    post(&mut connection);
    connection.body_done();
    assert_eq!(connection.finish(), Next::Idle);
    post(&mut connection);
    assert_eq!(connection.finish(), Next::Close(CloseReason::UnreadBody));
}

#[test]
fn the_first_reason_to_close_stays() {
    let mut connection = Connection::new();
    get(&mut connection);
    assert_eq!(connection.close(CloseReason::WriteTimeout), Next::Close(CloseReason::WriteTimeout));
    assert_eq!(connection.close(CloseReason::IoError), Next::Close(CloseReason::WriteTimeout));
    // After a close everything else is ignored.
    connection.body_done();
    assert_eq!(connection.decide(0, false, false), Persist::Close);
    assert_eq!(connection.finish(), Next::Close(CloseReason::WriteTimeout));
    get(&mut connection);
    assert_eq!(connection.close_reason(), Some(CloseReason::WriteTimeout));
}

/// Calls in a wrong order, with a name for the failure message.
type Disorder = (&'static str, fn(&mut Connection));

/// In a debug build disorder stops the test run; in a release build it closes the connection.
#[test]
fn disorder_never_keeps_a_connection() {
    let calls: [Disorder; 3] = [
        ("finish before begin", |connection| {
            connection.finish();
        }),
        ("begin twice", |connection| {
            get(connection);
            get(connection);
        }),
        ("finish before decide", |connection| {
            get(connection);
            connection.finish();
        }),
    ];
    for (name, call) in calls {
        let outcome = std::panic::catch_unwind(|| {
            let mut connection = Connection::new();
            call(&mut connection);
            connection.close_reason()
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
    assert!(size_of::<Connection>() <= 16);
}
