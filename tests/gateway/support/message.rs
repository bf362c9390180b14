//! The head of a request or an answer, as it was on the wire.

/// A start line and header lines.
#[derive(Debug, Clone)]
pub struct Head {
    /// The first line.
    pub start: String,
    /// The header lines, names in lower case, in order.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// Reads a whole head, with the blank line at its end.
    pub fn parse(text: &[u8]) -> Self {
        let text = std::str::from_utf8(text).expect("a head is text");
        let mut lines = text.trim_end_matches("\r\n").split("\r\n");
        let start = lines.next().expect("a head has a first line").to_owned();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line:?}"));
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        Self { start, headers: lines.map(header).collect() }
    }

    /// The status of an answer.
    pub fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{}", self.start))
    }

    /// The method and target of a request.
    pub fn asks(&self) -> (&str, &str) {
        let mut words = self.start.split(' ');
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }

    /// All values of a header, in order.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a header that stands at most once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() < 2, "{name} stands {} times", all.len());
        all.first().copied()
    }

    /// Whether the body is chunked.
    pub fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|coding| coding == "chunked")
    }

    /// The length of the body, if it is told.
    pub fn length(&self) -> Option<usize> {
        self.header("content-length").map(|n| n.parse().unwrap())
    }
}
