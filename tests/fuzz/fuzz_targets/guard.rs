//! Any stream: observing changes nothing, and what is repaired breaks no rule.
#![no_main]

use std::time::Instant;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use tidegate::{
    agui::Event,
    pipeline::{End, Peers, Recipe, Sink, guard::Mode},
};

fn through(mode: Mode, texts: &[Bytes]) -> (Vec<Bytes>, Sink) {
    let mut pipeline = Recipe { guard: mode, ..Recipe::default() }.build(&Peers::default());
    let (mut sink, at) = (Sink::default(), Instant::now());
    texts.iter().for_each(|text| pipeline.event(Event::new(text.clone(), None), at, &mut sink));
    pipeline.end(End::Closed, at, &mut sink);
    (sink.events.iter().map(|event| event.text().clone()).collect(), sink)
}

fuzz_target!(|body: &[u8]| {
    let texts: Vec<_> = body.split(|byte| *byte == 0).map(Bytes::copy_from_slice).collect();
    assert_eq!(through(Mode::Observe, &texts).0, texts);
    let (mended, _) = through(Mode::Repair, &texts);
    let (again, sink) = through(Mode::Refuse, &mended);
    assert_eq!(again, mended);
    assert!(sink.refused.is_none() && sink.violations.is_empty());
});
