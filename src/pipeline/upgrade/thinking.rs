//! Thinking comes in, the reasoning that it is called today goes out, each block a span with its messages. Thinking has
//! no identifiers; they are made here of the run's, so that no other run of the thread has the same, and without clock
//! or chance. What is not opened or closed is, as late as it can be.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Instant,
};

use super::reasoning;
use crate::{
    agui::{
        Event, EventKind, Kinds,
        edit::{self, Change, quoted},
    },
    pipeline::{Loss, Out, Stage, Way},
};

/// How many agents, the parent and its subagents, may be thinking at once. The thinking of more goes on as it is.
const THINKING_MAX: usize = 64;

/// Up to this length a run's identifier becomes a part of those made for it; of a longer one a digest does.
const RUN_ID_MAX: usize = 128;

/// Turns `THINKING_*` into `REASONING_*`. The title of a block is kept in the metadata of its span.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    /// What the identifiers of this run begin with.
    run: String,
    made: u64,
    blocks: Vec<Block>,
}

/// A block that is open: a span, and perhaps a message in it.
#[derive(Debug)]
struct Block {
    /// The `subagentRunId` of who thinks, as it was spelled.
    tag: Option<Vec<u8>>,
    /// The identifier of the span and of its first message, as a JSON string.
    id: Vec<u8>,
    /// That of its last message, once there is one.
    message_id: Option<Vec<u8>>,
    /// Whether the agent opened the span, and so will close it.
    announced: bool,
    /// Whether its last message is open.
    message: bool,
}

impl Block {
    /// The identifier that an event of this name bears.
    fn id_of(&self, name: &str) -> &[u8] {
        let in_message = name.starts_with("REASONING_MESSAGE");
        self.message_id.as_ref().filter(|_| in_message).unwrap_or(&self.id)
    }

    fn made(&self, name: &str, more: &str) -> Event {
        reasoning(name, self.id_of(name), more, self.tag.as_deref())
    }

    fn close_message(&mut self, at: Instant, out: &mut Out<'_>) {
        if std::mem::take(&mut self.message) {
            out.send(self.made("REASONING_MESSAGE_END", ""), at);
        }
    }

    fn close(mut self, at: Instant, out: &mut Out<'_>) {
        self.close_message(at, out);
        out.send(self.made("REASONING_END", ""), at);
    }

    /// The agent's own event under its name of today, every other member as it was.
    fn renamed(&self, event: &Event, name: &str, more: &str) -> Event {
        let mut head = format!("\"type\":\"{name}\",\"messageId\":").into_bytes();
        head.extend_from_slice(self.id_of(name));
        head.extend_from_slice(more.as_bytes());
        let renamed = event.edited(|member| {
            if member.is("type") {
                Change::Whole(std::mem::take(&mut head))
            } else if member.is("messageId") || member.is("role") {
                Change::Drop
            } else {
                Change::Keep
            }
        });
        renamed.unwrap_or_else(|| event.clone())
    }
}

impl Stage for Thinking {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::RunStarted,
            EventKind::RunFinished,
            EventKind::RunError,
            EventKind::SubagentFinished,
            EventKind::SubagentError,
        ])
        .and(Kinds::THINKING)
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::RunStarted => self.begin(&event),
            // Nothing has to be closed before it.
            EventKind::RunError => self.blocks.clear(),
            EventKind::RunFinished => self.blocks.drain(..).for_each(|block| block.close(at, out)),
            EventKind::SubagentFinished | EventKind::SubagentError => {
                let tag = event.member("subagentRunId");
                if let Some(block) = tag.and_then(|tag| self.take(Some(tag))) {
                    block.close(at, out);
                }
            }
            _ => return self.thinking(event, at, out),
        }
        out.send(event, at);
    }

    fn held(&self) -> usize {
        self.blocks.iter().map(|block| block.id.len() + block.tag.as_ref().map_or(0, Vec::len)).sum()
    }
}

impl Thinking {
    fn begin(&mut self, started: &Event) {
        self.blocks.clear();
        self.made = 0;
        self.run = match started.string("runId") {
            Some(id) if (1..=RUN_ID_MAX).contains(&id.len()) => id.into_owned(),
            _ => {
                let mut hasher = DefaultHasher::new();
                started.text().hash(&mut hasher);
                format!("{:016x}", hasher.finish())
            }
        };
    }

    fn thinking(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let tag = event.member("subagentRunId");
        let known = self.blocks.iter().any(|block| block.tag.as_deref() == tag);
        if !known && self.blocks.len() >= THINKING_MAX {
            return out.send(event, at);
        }
        out.converted(Way::Up, event.kind(), Loss::None);
        let open = self.take(tag);
        let left = match event.kind() {
            EventKind::ThinkingStart => {
                if let Some(before) = open {
                    before.close(at, out);
                }
                let block = self.block(tag, true);
                out.send(titled(&block.renamed(&event, "REASONING_START", "")), at);
                Some(block)
            }
            EventKind::ThinkingTextMessageStart => {
                let mut block = match open {
                    Some(block) if block.announced => block,
                    before => {
                        if let Some(before) = before {
                            before.close(at, out);
                        }
                        self.opened(tag, at, out)
                    }
                };
                block.close_message(at, out);
                self.open_message(&mut block);
                out.send(block.renamed(&event, "REASONING_MESSAGE_START", ROLE), at);
                Some(block)
            }
            EventKind::ThinkingTextMessageContent => {
                let mut block = open.unwrap_or_else(|| self.opened(tag, at, out));
                if !block.message {
                    self.open_message(&mut block);
                    out.send(block.made("REASONING_MESSAGE_START", ROLE), at);
                }
                out.send(block.renamed(&event, "REASONING_MESSAGE_CONTENT", ""), at);
                Some(block)
            }
            // An end of what is not open says nothing.
            EventKind::ThinkingTextMessageEnd => open.and_then(|mut block| {
                if std::mem::take(&mut block.message) {
                    out.send(block.renamed(&event, "REASONING_MESSAGE_END", ""), at);
                }
                if block.announced {
                    return Some(block);
                }
                block.close(at, out);
                None
            }),
            _ => {
                if let Some(mut block) = open {
                    block.close_message(at, out);
                    out.send(block.renamed(&event, "REASONING_END", ""), at);
                }
                None
            }
        };
        self.blocks.extend(left);
    }

    /// Takes out the block that this agent has open.
    fn take(&mut self, tag: Option<&[u8]>) -> Option<Block> {
        let at = self.blocks.iter().position(|block| block.tag.as_deref() == tag)?;
        Some(self.blocks.remove(at))
    }

    /// A block that the agent did not announce, its span opened.
    fn opened(&mut self, tag: Option<&[u8]>, at: Instant, out: &mut Out<'_>) -> Block {
        let block = self.block(tag, false);
        out.send(block.made("REASONING_START", ""), at);
        block
    }

    fn block(&mut self, tag: Option<&[u8]>, announced: bool) -> Block {
        Block { tag: tag.map(<[u8]>::to_vec), id: self.id(), message_id: None, announced, message: false }
    }

    /// The first message of a block has the block's identifier, each later one its own.
    fn open_message(&mut self, block: &mut Block) {
        let id = if block.message_id.is_none() { block.id.clone() } else { self.id() };
        block.message_id = Some(id);
        block.message = true;
    }

    /// Another identifier of this run, as a JSON string.
    fn id(&mut self) -> Vec<u8> {
        self.made += 1;
        quoted(&format!("{}-reasoning-{}", self.run, self.made))
    }
}

const ROLE: &str = ",\"role\":\"reasoning\"";

/// The start of a span with its title in its metadata.
fn titled(event: &Event) -> Event {
    let Some(title) = event.member("title").map(<[u8]>::to_vec) else { return event.clone() };
    let without = event.without(|member| member.is("title")).unwrap_or_else(|| event.clone());
    let before = without.member("metadata").unwrap_or(b"{}");
    match edit::with(before, "tidegate.title", &title) {
        Some(metadata) => without.with("metadata", &metadata),
        None => event.clone(),
    }
}
