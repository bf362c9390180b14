//! Run inputs as a client of some release sends them, from a seed.

use fastrand::Rng;
use serde_json::{Map, Value, json};
use tidegate::agui::Version;

/// An input that a client of this version may send, with the shapes that came with its version and before.
pub fn input(client: Version, seed: u64) -> Value {
    Sample { client, rng: Rng::with_seed(seed) }.input()
}

/// The same with every optional member, that holds nothing, written as null, as some clients do.
pub fn with_nulls(mut input: Value) -> Value {
    let object = input.as_object_mut().unwrap();
    for name in ["parentRunId", "state", "resume"] {
        object.entry(name).or_insert(Value::Null);
    }
    object["forwardedProps"] = Value::Null;
    for entry in object["resume"].as_array_mut().into_iter().flatten() {
        nulls(entry, &["payload"]);
    }
    for tool in object["tools"].as_array_mut().into_iter().flatten() {
        tool["parameters"] = Value::Null;
    }
    for message in object["messages"].as_array_mut().unwrap() {
        let names: &[&str] = match message["role"].as_str().unwrap() {
            "assistant" => &["content", "toolCalls", "name", "encryptedValue"],
            "tool" => &["error", "encryptedValue"],
            "activity" | "reasoning" => &["encryptedValue"],
            _ => &["name", "encryptedValue"],
        };
        nulls(message, names);
        for call in message["toolCalls"].as_array_mut().into_iter().flatten() {
            nulls(call, &["encryptedValue"]);
        }
        for part in message["content"].as_array_mut().into_iter().flatten() {
            match part["type"].as_str().unwrap() {
                "binary" => nulls(part, &["filename", "id", "url", "data"]),
                "text" => {}
                _ => nulls(part, &["metadata"]),
            }
        }
    }
    input
}

fn nulls(object: &mut Value, names: &[&str]) {
    for name in names {
        object.as_object_mut().unwrap().entry(*name).or_insert(Value::Null);
    }
}

struct Sample {
    client: Version,
    rng: Rng,
}

impl Sample {
    fn from(&self, n: u32) -> bool {
        self.client >= Version::npm(n)
    }

    fn current(&self) -> bool {
        !self.client.is_old()
    }

    fn any(&mut self) -> bool {
        self.rng.bool()
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.rng.usize(..of.len())]
    }

    fn input(&mut self) -> Value {
        let mut input = Map::new();
        let mut put = |name: &str, value| _ = input.insert(name.to_owned(), value);
        put("threadId", json!("t"));
        if self.current() && self.any() {
            put("protocolVersion", json!("1.0"));
        }
        put("runId", json!("r"));
        if self.from(40) && self.any() {
            put("parentRunId", json!("r0"));
        }
        put("messages", Value::Array((0..self.rng.usize(1..7)).map(|n| self.message(n)).collect()));
        // What an older client always sends, a current one may leave out.
        if !self.current() || self.any() {
            put("state", json!({"n": 1.0, "deep": {"encryptedValue": null}}));
        }
        if !self.current() || self.any() {
            put("tools", Value::Array((0..self.rng.usize(..3)).map(|_| self.tool()).collect()));
        }
        if !self.current() || self.any() {
            put("context", json!([{"description": "d", "value": "v"}]));
        }
        if !self.current() || self.any() {
            put("forwardedProps", json!({"command": {"update": null}, "role": "activity"}));
        }
        if self.from(54) && self.any() {
            put("resume", Value::Array((0..self.rng.usize(..3)).map(|n| self.answer(n)).collect()));
        }
        Value::Object(input)
    }

    fn answer(&mut self, n: usize) -> Value {
        match self.any() {
            true => json!({"interruptId": format!("i{n}"), "status": "resolved", "payload": {"ok": true}}),
            false => json!({"interruptId": format!("i{n}"), "status": "cancelled"}),
        }
    }

    fn tool(&mut self) -> Value {
        let mut tool = json!({"name": "f", "description": "does"});
        if !self.current() || self.any() {
            tool["parameters"] = json!({"type": "object"});
        }
        if self.from(52) && self.any() {
            tool["metadata"] = json!({"k": {"v": null}});
        }
        tool
    }

    fn message(&mut self, n: usize) -> Value {
        let mut roles = vec!["developer", "system", "assistant", "user", "user", "tool", "tool"];
        // Later clients keep activity to themselves.
        if self.client < Version::npm(41) {
            roles.push("activity");
        }
        if self.from(45) {
            roles.push("reasoning");
        }
        let role = self.pick(&roles);
        let mut message = json!({"id": format!("m{n}"), "role": role});
        match role {
            "assistant" => self.assistant(&mut message),
            "user" => message["content"] = self.content(),
            "tool" => {
                message["toolCallId"] = json!("c");
                message["content"] = if self.current() { self.content() } else { json!("done") };
                if self.from(36) && self.any() {
                    message["error"] = json!("no");
                }
            }
            "activity" => {
                message["activityType"] = json!("plan");
                message["content"] = json!({"x": [1]});
            }
            _ => message["content"] = json!("words"),
        }
        if matches!(role, "developer" | "system" | "assistant" | "user") && self.any() {
            message["name"] = json!("n");
        }
        if role != "activity" {
            self.sign(&mut message);
        }
        if self.from(59) && self.any() {
            message["subagentRunId"] = json!("s");
        }
        message
    }

    fn assistant(&mut self, message: &mut Value) {
        if self.any() {
            message["content"] = json!("");
        }
        if self.any() {
            let mut call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
            self.sign(&mut call);
            message["toolCalls"] = json!([call]);
        }
    }

    /// What messages and tool calls may both carry.
    fn sign(&mut self, object: &mut Value) {
        if self.from(45) && self.any() {
            object["encryptedValue"] = json!("AAA");
            if self.current() && self.any() {
                object["encryptedValueType"] = json!("signature");
            }
        }
        if self.from(59) && self.any() {
            object["metadata"] = json!({"k": null});
        }
    }

    fn content(&mut self) -> Value {
        if !self.from(40) || self.any() {
            return json!("plain \u{e9}");
        }
        Value::Array((0..self.rng.usize(..5)).map(|_| self.part()).collect())
    }

    fn part(&mut self) -> Value {
        let mut part = match self.rng.u8(..3) {
            0 => json!({"type": "text", "text": "words"}),
            1 if self.from(49) => self.medium(),
            _ if !self.current() => return self.binary(),
            _ => self.medium(),
        };
        if self.current() && self.any() {
            part["id"] = json!("p");
        }
        let metadata = if part["type"] == "text" { self.current() } else { true };
        if metadata && self.any() {
            part["metadata"] = json!({"filename": "f.bin", "k": 1});
        }
        part
    }

    fn medium(&mut self) -> Value {
        let kind = self.pick(&["image", "audio", "video", "document"]);
        let source = match self.rng.u8(..4) {
            0 => json!({"type": "data", "value": "iVBOR", "mimeType": "image/png"}),
            1 => json!({"type": "url", "value": "https://e.example/x", "mimeType": "application/pdf"}),
            2 if self.current() => json!({"type": "file", "value": "file-1", "provider": "p"}),
            _ => json!({"type": "url", "value": "https://e.example/y"}),
        };
        json!({"type": kind, "source": source})
    }

    fn binary(&mut self) -> Value {
        let mime = self.pick(&["image/png", "audio/ogg", "video/mp4", "text/csv"]);
        let mut part = json!({"type": "binary", "mimeType": mime});
        match self.rng.u8(..3) {
            0 => part["data"] = json!("iVBOR"),
            1 => part["url"] = json!("https://e.example/x"),
            _ => part["id"] = json!("h"),
        }
        if self.any() {
            part["filename"] = json!("f.bin");
        }
        part
    }
}
