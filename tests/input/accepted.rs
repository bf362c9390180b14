//! Every release takes what is made for it, from every release.

use serde_json::Value;
use tidegate::agui::Version;
use tidegate::pipeline::input::{Between, Resume, convert};

use crate::judge::{Asked, Sdk};
use crate::samples;

/// Inputs for each pair of releases.
const EACH: u64 = 4;
/// Inputs of a current client for each release.
const CURRENT: u64 = 150;

fn version(release: &str) -> Version {
    Version::released(release).unwrap()
}

fn converted(input: &Value, client: Version, agent: &str, resume: Resume) -> String {
    let between = Between { client, agent: version(agent), resume };
    let text = input.to_string();
    match convert(text.as_bytes(), &between).text {
        Some(text) => String::from_utf8(text).unwrap(),
        None => text,
    }
}

/// The releases of both languages, as clients.
fn clients() -> Vec<Version> {
    let npm = (27..60).map(Version::npm);
    npm.chain([Version::V1_0]).collect()
}

/// How many of the inputs were refused, with the first reason.
fn refused(sdk: Sdk, asked: &[Asked]) -> (usize, Option<String>) {
    let verdicts = sdk.judge(asked);
    let mut wrong = asked.iter().zip(verdicts).filter_map(|(asked, why)| Some((asked, why?)));
    let first = wrong.next().map(|(asked, why)| format!("{}: {}\n{why}", asked.release, asked.input));
    (usize::from(first.is_some()) + wrong.count(), first)
}

fn all_take(sdk: Sdk, what: &str, asked: &[Asked]) {
    let (count, first) = refused(sdk, asked);
    println!("{} inputs {what} judged by {sdk:?}, {count} refused", asked.len());
    assert_eq!(first, None);
}

fn every_release_takes_a_current_clients_input(sdk: Sdk) {
    let Some(releases) = sdk.releases() else {
        return;
    };
    let (mut raw, mut made) = (Vec::new(), Vec::new());
    for release in releases {
        for seed in 0..CURRENT {
            let input = samples::input(Version::V1_0, seed);
            let resume = if seed % 2 == 0 { Resume::Native } else { Resume::ForwardedProps };
            let text = converted(&input, Version::CURRENT, &release, resume);
            made.push(Asked { release: release.clone(), input: text });
            raw.push(Asked { release: release.clone(), input: input.to_string() });
        }
    }
    let (count, _) = refused(sdk, &raw);
    println!("{} inputs as they are judged by {sdk:?}, {count} refused", raw.len());
    assert!(count > raw.len() / 4, "the samples are too tame to show anything");
    all_take(sdk, "of a current client", &made);
}

fn every_release_takes_any_other_releases_input(sdk: Sdk) {
    let Some(releases) = sdk.releases() else {
        return;
    };
    let mut asked = Vec::new();
    for release in &releases {
        for (client, seed) in clients().into_iter().flat_map(|client| (0..EACH).map(move |seed| (client, seed))) {
            let input = samples::input(client, seed);
            asked.push(Asked { release: release.clone(), input: converted(&input, client, release, Resume::Native) });
        }
    }
    all_take(sdk, "between all releases", &asked);
}

fn a_current_release_takes_an_older_clients_nulls(sdk: Sdk) {
    let Some(releases) = sdk.releases() else {
        return;
    };
    let mut asked = Vec::new();
    for release in releases.iter().filter(|release| !version(release).is_old()) {
        for client in clients().into_iter().filter(|client| client.is_old()) {
            for seed in 0..20 {
                let input = samples::with_nulls(samples::input(client, seed));
                let text = converted(&input, client, release, Resume::Native);
                asked.push(Asked { release: release.clone(), input: text });
            }
        }
    }
    all_take(sdk, "with nulls of older clients", &asked);
}

#[test]
fn every_npm_release_takes_a_current_clients_input() {
    every_release_takes_a_current_clients_input(Sdk::Npm);
}

#[test]
fn every_python_release_takes_a_current_clients_input() {
    every_release_takes_a_current_clients_input(Sdk::PyPi);
}

#[test]
fn every_npm_release_takes_any_other_releases_input() {
    every_release_takes_any_other_releases_input(Sdk::Npm);
}

#[test]
fn every_python_release_takes_any_other_releases_input() {
    every_release_takes_any_other_releases_input(Sdk::PyPi);
}

#[test]
fn the_current_npm_release_takes_an_older_clients_nulls() {
    a_current_release_takes_an_older_clients_nulls(Sdk::Npm);
}

#[test]
fn the_current_python_release_takes_an_older_clients_nulls() {
    a_current_release_takes_an_older_clients_nulls(Sdk::PyPi);
}
