//! RemoteIPProxyProtocol: a proxy says before HTTP begins who its client is. Headers of both
//! versions, whole and in pieces; what they change in logs and rules; what ends a connection.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::{Ipv6Addr, SocketAddr};

use blackbox::apache::Pair;
use blackbox::{Client, Mpm, Server, Site, each_mpm, outside, releases, wait_for};

const GET: &str = "GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n";
const GET_LAST: &str = "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const LINE: &str = "PROXY TCP4 10.9.9.9 10.0.0.1 5555 80\r\n";

/// The client and the proxy, what was asked and how it went.
const FORMAT: &str = r#""%a %h %{remote}p %{c}a %U %>s""#;

/// Rules by the address that is announced; 10.9.9.0/24 may see `/only`.
const ONLY: &[&str] = &["<Location /only>", "Require ip 10.9.9.0/24 2001:db8::/32", "</Location>"];

fn site(mpm: Mpm) -> Site {
    let site = Site::new(mpm).file("a.txt", "hello\n").file("only/a.txt", "hidden\n");
    let site = site.directives(ONLY).directive("LogLevel warn remoteip:debug");
    site.access_log(FORMAT)
}

fn proxied(mpm: Mpm) -> Server {
    site(mpm).directive("RemoteIPProxyProtocol On").start()
}

/// A header of version 2.
fn binary(command: u8, family: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", &[command, family][..], &length, content].concat()
}

fn binary_v4() -> Vec<u8> {
    binary(0x21, 0x11, &[10, 9, 9, 9, 10, 0, 0, 1, 0x15, 0xb3, 0, 80])
}

fn binary_v6() -> Vec<u8> {
    let ip = "2001:db8::9".parse::<Ipv6Addr>().unwrap().octets();
    let ports = [0x15, 0xb3, 0, 80];
    binary(0x21, 0x21, &[&ip[..], &[0; 16], &ports].concat())
}

/// The bytes of a header with one request behind it.
fn then(header: &[u8], request: &str) -> Vec<u8> {
    [header, request.as_bytes()].concat()
}

/// Waits until the error log has a line with both texts.
fn wait_error(server: &Server, id: &str, text: &str) {
    let is_line = |line: &str| line.contains(id) && line.contains(text);
    wait_for(&format!("{id} {text}"), 10, || server.error_text().lines().any(is_line));
}

/// Headers that are taken, with what the log shows of the client; `None` is the proxy itself.
fn accepted() -> Vec<(Vec<u8>, Option<&'static str>)> {
    let four = Some("10.9.9.9 10.9.9.9 5555");
    let six = Some("2001:db8::9 2001:db8::9 5555");
    let with_values = binary(0x21, 0x11, &[&binary_v4()[16..], b"\x03\0\x04abcd"].concat());
    let largest = binary(0x21, 0x11, &[&binary_v4()[16..], &[4; 204]].concat());
    vec![
        (LINE.into(), four),
        (b"PROXY TCP6 2001:db8::9 ::1 5555 80\r\n".into(), six),
        (b"PROXY UNKNOWN whatever stands here\r\n".into(), None),
        (binary_v4(), four),
        (binary_v6(), six),
        (with_values, four),
        (largest, four),
        (binary(0x20, 0, b""), None),
        (binary(0x20, 0x11, &binary_v4()[16..]), None),
    ]
}

/// Line of the access log for a connection from this port.
fn logged(client: Option<&str>, port: u16, rest: &str) -> String {
    let own = format!("127.0.0.1 127.0.0.1 {port}");
    format!("{} 127.0.0.1 {rest}", client.unwrap_or(&own))
}

fn port_of(client: &Client) -> u16 {
    client.stream().local_addr().unwrap().port()
}

fn both_versions_announce_the_client(mpm: Mpm) {
    let server = proxied(mpm);
    for (nth, (header, source)) in accepted().into_iter().enumerate() {
        let mut client = server.connect();
        let response = client.send(then(&header, GET_LAST)).response();
        assert_eq!((response.status, response.text().as_str()), (200, "hello\n"), "{header:?}");
        let line = server.wait_log(nth + 1).pop().unwrap();
        assert_eq!(line, logged(source, port_of(&client), "/a.txt 200"));
    }
}

fn a_header_may_come_byte_by_byte(mpm: Mpm) {
    let server = proxied(mpm);
    for (header, source) in [(LINE.as_bytes().to_vec(), "10.9.9.9"), (binary_v6(), "2001:db8::9")] {
        let before = server.log_lines().len();
        let mut client = server.connect();
        let bytes = then(&header, GET_LAST);
        let response = client.send_pieces(bytes.chunks(1)).response();
        assert_eq!(response.status, 200);
        let line = server.wait_log(before + 1).pop().unwrap();
        assert!(line.starts_with(source), "{line}");
    }
}

fn the_header_stands_for_all_requests_of_a_connection(mpm: Mpm) {
    let server = proxied(mpm);
    let mut client = server.connect();
    // Pipelined in one segment, then one by one, prepared answers and the slow path.
    client.send(then(LINE.as_bytes(), &[GET, GET, GET].concat()));
    for _ in 0..3 {
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(client.get("/a.txt").status, 200);
    client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=0-0\r\n\r\n");
    assert_eq!(client.response().status, 206);
    for line in server.wait_log(5) {
        assert!(line.starts_with("10.9.9.9 10.9.9.9 5555 127.0.0.1 /a.txt 20"), "{line}");
    }
    // A second header is a request that makes no sense. httpd shows it as the proxy's own.
    client.send(LINE);
    assert_eq!(client.response().status, 400);
    let line = server.wait_log(6).pop().unwrap();
    assert!(line.starts_with("127.0.0.1 127.0.0.1 "), "{line}");
    client.assert_closed();
}

fn rules_are_about_the_client(mpm: Mpm) {
    let server = proxied(mpm);
    let ask = "GET /only/a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let rows = [
        (LINE, 200),
        ("PROXY TCP4 10.9.8.9 10.0.0.1 5555 80\r\n", 403),
        ("PROXY TCP6 2001:db8::9 ::1 5555 80\r\n", 200),
        ("PROXY TCP6 ::ffff:a09:909 ::1 5555 80\r\n", 200),
        ("PROXY TCP6 2001:db9::9 ::1 5555 80\r\n", 403),
        ("PROXY UNKNOWN\r\n", 403),
    ];
    for round in 0..2 {
        for (header, status) in rows {
            let response = server.exchange(then(header.as_bytes(), ask));
            assert_eq!(response.status, status, "{header} in round {round}");
        }
    }
    wait_error(&server, "AH01630", "[client 10.9.8.9:5555] ");
}

fn what_the_proxy_says_beats_a_field(mpm: Mpm) {
    let site = site(mpm).directive("RemoteIPProxyProtocol On");
    let server = site.directive("RemoteIPHeader X-Forwarded-For").start();
    let ask = GET_LAST.replace("Host: a", "Host: a\r\nX-Forwarded-For: 8.8.8.8");
    assert_eq!(server.exchange(then(LINE.as_bytes(), &ask)).status, 200);
    assert_eq!(server.wait_log(1), ["10.9.9.9 10.9.9.9 5555 127.0.0.1 /a.txt 200"]);
    assert_eq!(server.exchange(then(b"PROXY UNKNOWN\r\n", &ask)).status, 200);
    let line = server.wait_log(2).pop().unwrap();
    assert!(line.starts_with("127.0.0.1 127.0.0.1 "), "{line}");
}

fn without_a_good_header_there_is_no_answer(mpm: Mpm) {
    let server = proxied(mpm);
    let long = [&b"PROXY UNKNOWN "[..], &[b'x'; 93], b"\r\n"].concat();
    let rows: [(&[u8], &str, &str); 13] = [
        (b"", "AH03496", "RemoteIPProxyProtocol data is missing, but required!"),
        (b"garbage of some length\r\n", "AH03496", "data is missing"),
        (b"PROXY          \r\n", "AH03497", "no family found in header 'PROXY          '"),
        (b"PROXY TCP5 1.2.3.4 5 6 7\r\n", "AH03499", "unknown family 'TCP5' in header"),
        (b"PROXY TCP4 1.2.3.x 5 6 7\r\n", "AH03500", "invalid client-address '1.2.3.x' found"),
        (b"PROXY TCP4 1.2.3.4 5 x 7\r\n", "AH03501", "error parsing port 'x' in header"),
        (b"PROXY TCP4 1.2.3.999 5 6 7\r\n", "AH03502", "family '2', host '1.2.3.999', and port"),
        (&long, "AH10185", "header too long, got 94 expected 92"),
        (&binary(0x21, 0x11, &[0; 217]), "AH10186", "protocol header length too long"),
        (&binary(0x21, 0x00, b""), "AH10183", "unsupported protocol 00"),
        (&binary(0x22, 0x11, b""), "AH03507", "unsupported command 22"),
        (&binary(0x21, 0x11, &[0; 8]), "AH10597", "address length 8 too short for TCPv4"),
        (&binary(0x21, 0x21, &[0; 8]), "AH10598", "address length 8 too short for TCPv6"),
    ];
    for (header, id, text) in rows {
        let mut client = server.connect();
        client.send(then(header, GET)).assert_closed();
        wait_error(&server, id, text);
        let own = format!("[client 127.0.0.1:{}] {id}", port_of(&client));
        wait_error(&server, &own, text);
    }
    assert_eq!(server.log_lines(), [""; 0]);
    assert_eq!(server.exchange(then(LINE.as_bytes(), GET_LAST)).status, 200);
}

fn a_header_that_ends_early_is_told(mpm: Mpm) {
    let server = proxied(mpm);
    for part in [&b""[..], b"PRO", b"PROXY TCP4 10.9.", &binary_v4()[..20]] {
        let mut client = server.connect();
        client.send(part).finish().assert_closed();
        let own = format!("[client 127.0.0.1:{}] AH10634", port_of(&client));
        wait_error(&server, &own, "connection closed before a complete header was received");
    }
}

fn the_header_has_to_come_in_time(mpm: Mpm) {
    let site = site(mpm).directive("RemoteIPProxyProtocol On");
    let server = site.directive("RequestReadTimeout header=1").start();
    let mut client = server.connect();
    client.send("PROXY TCP4 10.9.9.9").assert_closed();
    wait_error(&server, &format!("[client 127.0.0.1:{}] AH10184", port_of(&client)), "");
    // Behind the header the same time goes on for the request.
    let mut client = server.connect();
    client.send(then(LINE.as_bytes(), "GET / HT")).count_rest();
}

fn networks_and_addresses_are_excepted(mpm: Mpm) {
    let on = "RemoteIPProxyProtocol On";
    let site = || site(mpm).directive(on);
    let server = site().directive("RemoteIPProxyProtocolExceptions 10.0.0.0/8 127.0.0.1").start();
    assert_eq!(server.exchange(GET_LAST).status, 200);
    assert_eq!(server.exchange(then(LINE.as_bytes(), GET_LAST)).status, 400);
    let server = site().directive("RemoteIPProxyProtocolExceptions 10.0.0.0/8").start();
    assert_eq!(server.exchange(then(LINE.as_bytes(), GET_LAST)).status, 200);
    let server = site().directive("RemoteIPProxyProtocol Off").start();
    assert_eq!(server.exchange(GET_LAST).status, 200);
    let (code, said) = site().directive("RemoteIPProxyProtocolExceptions x/8").start_fails();
    assert!(code != 0 && said.contains("ip address 'x' appears to be invalid"), "{said}");
    let (code, said) = site().directive("RemoteIPProxyProtocolExceptions").start_fails();
    assert!(code != 0 && said.contains("RemoteIPProxyProtocolExceptions requires"), "{said}");
}

/// The setting belongs to an address of the server, whatever host a request is for.
fn hosts_decide_by_their_addresses(mpm: Mpm) {
    let host = |address: &str, name: &str, lines: &[&str]| {
        let open = format!("<VirtualHost {address}>");
        let mut all = vec![open, format!("ServerName {name}")];
        all.extend(lines.iter().map(ToString::to_string));
        all.push("</VirtualHost>".into());
        all
    };
    let start = |main: &str, hosts: [Vec<String>; 2]| {
        let site = site(mpm).directive(format!("RemoteIPProxyProtocol {main}"));
        hosts.concat().into_iter().fold(site, Site::directive).start()
    };
    let server =
        start("Off", [host("*", "a", &[]), host("127.0.0.1", "b", &["RemoteIPProxyProtocol On"])]);
    // The main server's Off is about every address.
    assert_eq!(server.exchange(GET_LAST).status, 200);
    let server = start(
        "On",
        [host("127.0.0.2", "a", &["RemoteIPProxyProtocol Off"]), host("127.0.0.1", "b", &[])],
    );
    assert_eq!(server.exchange(then(LINE.as_bytes(), GET_LAST)).status, 200);
    let server = start(
        "On",
        [host("127.0.0.1", "a", &["RemoteIPProxyProtocol Off"]), host("127.0.0.1", "b", &[])],
    );
    assert_eq!(server.exchange(GET_LAST).status, 200);
}

/// Status and client as the server sees it, or `None` if it closes without an answer.
fn told(address: SocketAddr, bytes: &[u8]) -> Option<(u16, Option<String>)> {
    let response = Client::connect(address).send(bytes).try_response(false).ok()?;
    Some((response.status, response.field("X-Client").map(str::to_owned)))
}

/// What stands before a request. Left out are a port or an address that httpd takes for another
/// one (`99999`, `10.9`), IPv6 in capitals, which it shows as sent, `PROXY UNKNOWN` without more,
/// over which it stumbles (AH03513), and a line of 108 bytes.
fn compared() -> Vec<Vec<u8>> {
    let four = &binary_v4()[16..];
    let mut rows: Vec<Vec<u8>> = accepted().into_iter().map(|row| row.0).collect();
    let lines = [
        "",
        "PROXY          \r\n",
        "PROXY TCP4     \r\n",
        "PROXY  TCP4   10.9.9.9    10.0.0.1   5555\r\n",
        "PROXY TCP4 10.9.8.9 10.0.0.1 5555 80\r\n",
        "PROXY TCP4 10.9.9.9 anything 5555 80\r\n",
        "PROXY TCP4 10.9.9.9 10.0.0.1\r\n",
        "PROXY TCP4 10.9.9.x 10.0.0.1 5555 80\r\n",
        "PROXY TCP4 2001:db8::9 ::1 5555 80\r\n",
        "PROXY TCP6 10.9.9.9 10.0.0.1 5555 80\r\n",
        "PROXY TCP4 10.9.9.9 10.0.0.1 x 80\r\n",
        "PROXY UDP4 10.9.9.9 10.0.0.1 5555 80\r\n",
        "PROXY unknown and more of it\r\n",
        "proxy TCP4 10.9.9.9 10.0.0.1 5555 80\r\n",
        " PROXY TCP4 10.9.9.9 10.0.0.1 5555 80\r\n",
    ];
    rows.extend(lines.map(|line| line.as_bytes().to_vec()));
    for count in [91, 93, 200] {
        rows.push([&b"PROXY UNKNOWN "[..], &vec![b'x'; count], b"\r\n"].concat());
    }
    for (command, family) in [(0x20, 0x31), (0x21, 0), (0x21, 0x12), (0x22, 0x11), (0x11, 0x11)] {
        rows.push(binary(command, family, four));
    }
    rows.extend([&four[..8], &[9; 217]].map(|content| binary(0x21, 0x11, content)));
    rows
}

fn it_is_as_in_apache(mpm: Mpm) {
    let files = [("a.txt", "hello\n"), ("only/a.txt", "hidden\n")];
    let Some(pair) = Pair::start("it_is_as_in_apache", mpm, "proxy_protocol", &files) else {
        return;
    };
    let forwarded = GET_LAST.replace("Host: a", "Host: a\r\nX-Forwarded-For: 8.8.8.8");
    let hidden = GET_LAST.replace("/a.txt", "/only/a.txt");
    let patch = releases::httpd_patch();
    for header in compared() {
        for request in [GET_LAST, &forwarded, &hidden] {
            let bytes = then(&header, request);
            let ours = told(pair.trivet.address(), &bytes);
            let shown = String::from_utf8_lossy(&bytes);
            if releases::is_answered_otherwise(patch, "proxy_protocol", &shown) {
                let why = format!("{shown:?}: apache2 2.4.{patch} answers otherwise");
                outside::not_run("it_is_as_in_apache", &why);
                continue;
            }
            assert_eq!(ours, told(pair.apache.address(), &bytes), "{shown:?}");
        }
    }
}

fn start_and_connections_are_told(mpm: Mpm) {
    let server = proxied(mpm);
    wait_error(&server, "AH03492", "RemoteIPProxyProtocol: enabled on 0.0.0.0:0");
    server.exchange(then(LINE.as_bytes(), GET_LAST));
    let SocketAddr::V4(local) = server.address() else { panic!("it is told to listen on IPv4") };
    wait_error(&server, "AH03503", &format!("enabled on connection to {local}"));
    wait_error(&server, "AH03511", "received valid PROXY header: 10.9.9.9:5555");
}

each_mpm!(
    both_versions_announce_the_client,
    a_header_may_come_byte_by_byte,
    the_header_stands_for_all_requests_of_a_connection,
    rules_are_about_the_client,
    what_the_proxy_says_beats_a_field,
    without_a_good_header_there_is_no_answer,
    a_header_that_ends_early_is_told,
    the_header_has_to_come_in_time,
    networks_and_addresses_are_excepted,
    hosts_decide_by_their_addresses,
    it_is_as_in_apache,
    start_and_connections_are_told,
);
