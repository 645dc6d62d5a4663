//! Serves one page on the loopback interface: HTTP/1.1, `GET` and `HEAD`, one answer a connection.

use crate::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A request's head is no longer than this, or it is none.
const LONGEST_HEAD: u64 = 16 * 1024;
/// Who says nothing for so long has nothing to ask.
const PATIENCE: Duration = Duration::from_secs(10);

/// A page that waits to be asked for.
pub(crate) struct Server {
    listener: TcpListener,
    page: Arc<Vec<u8>>,
    port: u16,
}

impl Server {
    /// Listens at a port of this machine; at any, if it is 0.
    pub(crate) fn bind(port: u16, page: Vec<u8>) -> Result<Self, Error> {
        let refused = |error| {
            Error::Use(format!("cannot listen at port {port} of 127.0.0.1: {error}; choose another with --port"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        Ok(Self { listener, page: Arc::new(page), port })
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers until the process ends.
    pub(crate) fn serve(&self) -> io::Result<()> {
        loop {
            let (stream, _) = self.listener.accept()?;
            let (page, port) = (Arc::clone(&self.page), self.port);
            // A browser opens connections that it may never use: each has a thread. One that fails is the browser's loss.
            std::thread::Builder::new().name("mtprof-view".to_owned()).spawn(move || {
                let _ = answer(&stream, &page, port);
            })?;
        }
    }
}

fn answer(mut stream: &TcpStream, page: &[u8], port: u16) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.take(LONGEST_HEAD));
    let mut head = String::new();
    while lines.read_line(&mut head)? > 2 {}
    let response = Response::to(&head, port);
    let body = if response == Response::Page { page } else { response.reason().as_bytes() };
    write!(
        stream,
        "HTTP/1.1 {} {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        response.status(),
        response.reason(),
        if response == Response::Page { "text/html" } else { "text/plain" },
        body.len(),
    )?;
    if !head.starts_with("HEAD ") {
        stream.write_all(body)?;
    }
    stream.flush()
}

/// What a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Response {
    Page,
    BadRequest,
    Forbidden,
    NotFound,
    NotAllowed,
}

impl Response {
    /// The response to a request's head.
    fn to(head: &str, port: u16) -> Self {
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
            return Self::BadRequest;
        };
        if !version.starts_with("HTTP/1.") {
            return Self::BadRequest;
        }
        // Another site's name that leads here is none of ours: its scripts must not read the page.
        let is_host = |line: &str| {
            line.split_once(':')
                .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
                .map(|(_, value)| value.trim().to_owned())
        };
        let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        match lines.find_map(is_host) {
            Some(host) if ours.contains(&host) => {}
            _ => return Self::Forbidden,
        }
        match (method, target.split('?').next()) {
            ("GET" | "HEAD", Some("/")) => Self::Page,
            ("GET" | "HEAD", _) => Self::NotFound,
            _ => Self::NotAllowed,
        }
    }

    fn status(self) -> u16 {
        match self {
            Self::Page => 200,
            Self::BadRequest => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::NotAllowed => 405,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Page => "OK",
            Self::BadRequest => "Bad Request",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not Found",
            Self::NotAllowed => "Method Not Allowed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_is_given_and_only_to_this_machines_names() {
        let host = "\r\nHost: 127.0.0.1:80\r\n\r\n";
        let cases = [
            (format!("GET / HTTP/1.1{host}"), Response::Page),
            (format!("HEAD /?a HTTP/1.1{host}"), Response::Page),
            ("GET / HTTP/1.1\r\nhost: localhost:80\r\n\r\n".to_owned(), Response::Page),
            (format!("GET /etc/passwd HTTP/1.1{host}"), Response::NotFound),
            (format!("POST / HTTP/1.1{host}"), Response::NotAllowed),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), Response::Forbidden),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), Response::Forbidden),
            (format!("GET / SSH-2.0{host}"), Response::BadRequest),
            (String::new(), Response::BadRequest),
        ];
        for (head, response) in cases {
            assert_eq!(Response::to(&head, 80), response, "{head:?}");
        }
    }

    #[test]
    fn a_request_is_answered() {
        let server = Server::bind(0, b"<p>page</p>".to_vec()).unwrap();
        let mut browser = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        write!(browser, "GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.port).unwrap();
        let (stream, _) = server.listener.accept().unwrap();
        answer(&stream, &server.page, server.port).unwrap();
        drop(stream);
        let mut answered = String::new();
        browser.read_to_string(&mut answered).unwrap();
        assert!(answered.starts_with("HTTP/1.1 200 OK\r\n") && answered.ends_with("\r\n\r\n<p>page</p>"), "{answered}");
    }

    #[test]
    fn a_port_that_is_taken_is_said() {
        let first = Server::bind(0, Vec::new()).unwrap();
        let Err(error) = Server::bind(first.port, Vec::new()) else { panic!("two listen at one port") };
        assert!(error.to_string().contains("choose another with --port"), "{error}");
    }
}
