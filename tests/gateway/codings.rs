//! Agents that compress although they were asked not to: events are seen as soon as the agent flushes them.
//!
//! The encoders here store instead of compressing, which every one of these formats allows, so that where a flush
//! ends is known to the byte.

use super::support::{Agent, FINISHED, Gateway, INPUT, STARTED, chunk, delta, frame, frames, get, post};

/// A content coding: its name, what comes before the first piece, each piece as a block, and the end.
pub struct Coding {
    pub name: &'static str,
    head: &'static [u8],
    block: fn(&[u8]) -> Vec<u8>,
    end: fn(&[u8]) -> Vec<u8>,
}

pub const CODINGS: [Coding; 4] = [
    Coding {
        name: "gzip",
        head: &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255],
        block: deflate_block,
        end: |all| [&[1, 0, 0, 255, 255][..], &crc32(all).to_le_bytes(), &(all.len() as u32).to_le_bytes()].concat(),
    },
    Coding {
        name: "deflate",
        head: &[0x78, 1],
        block: deflate_block,
        end: |all| [&[1, 0, 0, 255, 255][..], &adler32(all).to_be_bytes()].concat(),
    },
    Coding { name: "zstd", head: &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x58], block: zstd_block, end: |_| vec![1, 0, 0] },
    Coding { name: "br", head: &[], block: brotli_block, end: |_| vec![3] },
];

/// A stored block that is not the last.
fn deflate_block(data: &[u8]) -> Vec<u8> {
    let length = data.len() as u16;
    [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), data].concat()
}

/// A raw block that is not the last.
fn zstd_block(data: &[u8]) -> Vec<u8> {
    [&((data.len() as u32) << 3).to_le_bytes()[..3], data].concat()
}

/// An uncompressed meta-block. The first one of a stream has one bit more, for the window; see [`coded`].
fn brotli_block(data: &[u8]) -> Vec<u8> {
    let bits = (data.len() as u32 - 1) << 3 | 1 << 19;
    [&bits.to_le_bytes()[..3], data].concat()
}

/// The pieces of a body, coded.
pub fn coded(coding: &Coding, pieces: &[&str]) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = pieces.iter().map(|piece| (coding.block)(piece.as_bytes())).collect();
    if coding.name == "br" {
        let bits = ((pieces[0].len() as u32 - 1) << 3 | 1 << 19) << 1;
        out[0][..3].copy_from_slice(&bits.to_le_bytes()[..3]);
    }
    out[0].splice(0..0, coding.head.iter().copied());
    out.push((coding.end)(pieces.concat().as_bytes()));
    out
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    b << 16 | a
}

fn head(coding: &Coding) -> String {
    let name = coding.name;
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: {name}\r\ntransfer-encoding: chunked\r\n\r\n"
    )
}

#[tokio::test]
async fn a_coded_run_is_decoded_event_by_event() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for coding in &CODINGS {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(head(coding)).await;
        let answer = client.head().await;
        assert_eq!((answer.status(), answer.header("content-encoding")), (200, None), "{}", coding.name);
        let events = [frame(STARTED), frame(&delta("one")), frame(&delta("two")), frame(FINISHED)];
        let pieces: Vec<&str> = events.iter().map(String::as_str).collect();
        let coded = coded(coding, &pieces);
        for (sent, seen) in coded.iter().zip(&pieces) {
            connection.send(chunk(sent)).await;
            client.expect(seen).await;
        }
        connection.send(chunk(coded.last().unwrap())).await;
        connection.send("0\r\n\r\n").await;
        assert_eq!(client.rest().await, "", "{}", coding.name);
    }
    gateway.counted("finished", 4.0).await;
}

#[tokio::test]
async fn a_run_of_several_gzip_members_is_decoded_event_by_event() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let gzip = &CODINGS[0];
    let events = [frame(STARTED), frame(&delta("one")), frame(&delta("two")), frame(FINISHED)];
    let members: Vec<Vec<u8>> = events.iter().map(|event| coded(gzip, &[event]).concat()).collect();

    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(head(gzip)).await;
    client.head().await;
    for (member, event) in members.iter().zip(&events) {
        connection.send(chunk(member)).await;
        client.expect(event).await;
    }
    connection.send("0\r\n\r\n").await;
    assert_eq!(client.rest().await, "");
    drop(connection);

    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(head(gzip)).await;
    // Cut anywhere, also within a member's head.
    let cut = members.concat();
    connection.send_apart(cut.chunks(7).map(chunk)).await;
    connection.send("0\r\n\r\n").await;
    client.head().await;
    assert_eq!(client.rest().await, events.concat());
    gateway.counted("finished", 2.0).await;
}

#[tokio::test]
async fn a_gzip_member_that_is_cut_short_or_followed_by_nonsense_ends_the_run() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let gzip = &CODINGS[0];
    let first = coded(gzip, &[&frame(STARTED)]).concat();
    let second = coded(gzip, &[&frame(&delta("a"))]).concat();
    for rest in [&second[..5], &second[..second.len() - 1], b"nonsense"] {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(head(gzip)).await;
        connection.send(chunk([&first, rest].concat())).await;
        connection.send("0\r\n\r\n").await;
        client.head().await;
        let all = client.rest().await;
        assert!(all.starts_with(&frame(STARTED)) && all.contains("UPSTREAM_TRUNCATED"), "{rest:?}: {all}");
    }
    gateway.counted("truncated", 3.0).await;
}

#[tokio::test]
async fn an_input_of_several_gzip_members_is_read_whole() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let gzip = &CODINGS[0];
    let (first, rest) = INPUT.split_at(12);
    let body = [coded(gzip, &[first]), coded(gzip, &[rest])].concat().concat();
    let head = "POST / HTTP/1.1\r\nhost: gate\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n";
    let length = body.len();
    let mut client = gateway.ask(format!("{head}content-encoding: gzip\r\ncontent-length: {length}\r\n\r\n")).await;
    client.send(&body).await;
    let (mut connection, _, arrived) = agent.request().await;
    assert_eq!(arrived, body);
    connection.send("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n").await;
    client.head().await;
    // Only for a run an answer that is no stream is an outcome.
    gateway.counted("agent_status", 1.0).await;
}

#[tokio::test]
async fn a_coded_run_that_breaks_off_ends_properly() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for coding in &CODINGS {
        for reset in [true, false] {
            let mut client = gateway.ask(post("/")).await;
            let (mut connection, ..) = agent.request().await;
            connection.send(head(coding)).await;
            client.head().await;
            let started = frame(STARTED);
            let coded = coded(coding, &[&started, "data: {"]);
            connection.send(chunk(&coded[0])).await;
            client.expect(&started).await;
            connection.send(chunk(&coded[1][..coded[1].len() - 1])).await;
            if reset {
                connection.reset();
            } else {
                connection.send("0\r\n\r\n").await;
            }
            let rest = client.rest().await;
            assert!(rest.contains("UPSTREAM_TRUNCATED"), "{}: {rest}", coding.name);
        }
    }
    gateway.counted("truncated", 8.0).await;
}

#[tokio::test]
async fn nonsense_that_claims_to_be_coded_ends_the_run() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for coding in &CODINGS {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(head(coding)).await;
        connection.send(chunk(frames([STARTED, FINISHED]))).await;
        connection.send("0\r\n\r\n").await;
        assert_eq!(client.head().await.status(), 200);
        let rest = client.rest().await;
        assert!(rest.contains("UPSTREAM_TRUNCATED"), "{}: {rest}", coding.name);
    }
}

#[tokio::test]
async fn a_coded_foreign_stream_keeps_every_byte_of_its_text() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let text = ": hi\r\nevent: x\r\ndata: {\"choices\":[]}\r\n\r\ndata: [DONE]\n\n";
    for coding in &CODINGS {
        let mut client = gateway.ask(get("/v1")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(head(coding)).await;
        for piece in coded(coding, &[text]) {
            connection.send(chunk(piece)).await;
        }
        connection.send("0\r\n\r\n").await;
        let answer = client.head().await;
        assert_eq!((answer.status(), answer.header("content-encoding")), (200, None));
        assert_eq!(client.rest().await, text, "{}", coding.name);
    }
}

#[tokio::test]
async fn what_is_no_stream_stays_coded() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let coded = coded(&CODINGS[0], &["{\"a\":1}"]).concat();
    let mut client = gateway.ask(get("/info")).await;
    let (mut connection, ..) = agent.request().await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n";
    connection.send(format!("{head}content-length: {}\r\n\r\n", coded.len())).await;
    connection.send(&coded).await;
    let (head, body) = client.message().await;
    assert_eq!((head.header("content-encoding"), body), (Some("gzip"), coded));
}
