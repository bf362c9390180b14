//! An agent's endpoints come in, as they stand at this moment; the order in which one run tries them goes out. It reads
//! no clock and remembers nothing.

use std::cmp::Reverse;

/// By what one of several endpoints is chosen.
#[derive(Clone, Copy, Debug)]
pub enum By<'a> {
    /// The one with the fewest runs; among equals, whose turn it is.
    Runs,
    /// Whose turn it is.
    Turn,
    /// The one that this thread always gets.
    Thread(&'a str),
}

/// One endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its url.
    pub name: &'a str,
    /// How many runs are at it.
    pub runs: usize,
    /// Whether it is given runs only if nobody else takes them.
    pub is_out: bool,
}

/// The places of these endpoints, the best first. Those that are out come last, so that a run is rather tried there
/// than failed; if all are out, all are in. `turn` counts the runs before this one.
pub fn order(by: By<'_>, turn: usize, candidates: &[Candidate<'_>]) -> Vec<usize> {
    let (mut order, mut out): (Vec<_>, Vec<_>) = (0..candidates.len()).partition(|place| !candidates[*place].is_out);
    arrange(&mut order, by, turn, candidates);
    arrange(&mut out, by, turn, candidates);
    order.append(&mut out);
    order
}

fn arrange(places: &mut [usize], by: By<'_>, turn: usize, candidates: &[Candidate<'_>]) {
    match by {
        By::Thread(thread) => places.sort_by_key(|place| Reverse(score(thread, candidates[*place].name))),
        By::Runs | By::Turn if places.is_empty() => {}
        By::Turn => places.rotate_left(turn % places.len()),
        By::Runs => {
            places.rotate_left(turn % places.len());
            places.sort_by_key(|place| candidates[*place].runs);
        }
    }
}

/// How much an endpoint wants a thread (rendezvous hashing): the same in every process, so that several gateways agree.
/// When an endpoint goes, only its own threads move; when it is back, only they come back.
fn score(thread: &str, endpoint: &str) -> u64 {
    // FNV-1a over both, with a byte between that is in no text, and then mixed, since its high bits alone are too much
    // alike for texts that differ at their ends.
    let bytes = thread.bytes().chain([0xff]).chain(endpoint.bytes());
    let mut hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["http://a:80/", "http://b:80/", "http://c:80/", "http://d:80/", "http://e:80/"];

    fn candidates<'a>(runs: &[usize], out: &[usize]) -> Vec<Candidate<'a>> {
        let each = runs.iter().zip(NAMES).enumerate();
        each.map(|(place, (runs, name))| Candidate { name, runs: *runs, is_out: out.contains(&place) }).collect()
    }

    #[test]
    fn each_has_its_turn_and_nobody_gets_two() {
        let all = candidates(&[9, 0, 0], &[]);
        let firsts: Vec<_> = (0..6).map(|turn| order(By::Turn, turn, &all)[0]).collect();
        assert_eq!(firsts, [0, 1, 2, 0, 1, 2]);
        let some = candidates(&[0; 4], &[1]);
        let firsts: Vec<_> = (0..6).map(|turn| order(By::Turn, turn, &some)[0]).collect();
        assert_eq!(firsts, [0, 2, 3, 0, 2, 3], "the turns of one that is out are shared");
    }

    #[test]
    fn the_fewest_runs_count_and_then_the_turn() {
        assert_eq!(order(By::Runs, 0, &candidates(&[2, 1, 3], &[])), [1, 0, 2]);
        let equal = candidates(&[1, 0, 0], &[]);
        let firsts: Vec<_> = (0..3).map(|turn| order(By::Runs, turn, &equal)[0]).collect();
        assert_eq!(firsts, [1, 1, 2]);
    }

    #[test]
    fn who_is_out_comes_last_and_if_all_are_all_are_in() {
        for by in [By::Runs, By::Turn, By::Thread("t")] {
            for turn in 0..3 {
                let order = order(by, turn, &candidates(&[0, 5, 5], &[0]));
                assert_eq!((order.len(), order[2]), (3, 0), "{by:?}");
            }
            assert_eq!(order(by, 1, &candidates(&[0, 0, 0], &[0, 1, 2])), order(by, 1, &candidates(&[0, 0, 0], &[])));
        }
        assert_eq!(order(By::Turn, 7, &[]), [0; 0]);
    }

    #[test]
    fn a_thread_sticks_whatever_else_happens() {
        let here = order(By::Thread("t1"), 0, &candidates(&[0; 5], &[]));
        assert_eq!(order(By::Thread("t1"), 3, &candidates(&[9, 1, 4, 7, 2], &[])), here);
    }

    #[test]
    fn threads_spread_evenly_and_only_those_of_a_lost_endpoint_move() {
        let threads: Vec<String> = (0..10_000).map(|n| format!("thread-{n}")).collect();
        let first = |out: &[usize], thread: &str| order(By::Thread(thread), 0, &candidates(&[0; 5], out))[0];
        let mut counts = [0; 5];
        let mut moved = [0; 5];
        for thread in &threads {
            let before = first(&[], thread);
            counts[before] += 1;
            let after = first(&[2], thread);
            assert_ne!(after, 2);
            assert!(before == 2 || after == before, "{thread} was moved for nothing");
            if before == 2 {
                moved[after] += 1;
            }
        }
        assert!(counts.iter().all(|count| (1850..2150).contains(count)), "{counts:?}");
        assert_eq!(moved.iter().sum::<i32>(), counts[2]);
        assert!([0, 1, 3, 4].iter().all(|place| (400..600).contains(&moved[*place])), "{moved:?}");
    }

    #[test]
    fn every_gateway_chooses_alike() {
        let firsts: Vec<_> =
            (0..8).map(|n| order(By::Thread(&format!("t{n}")), 0, &candidates(&[0; 5], &[]))[0]).collect();
        assert_eq!(firsts, FIRSTS);
    }

    /// Another choice for these would move threads with the next version.
    const FIRSTS: [usize; 8] = [4, 3, 3, 3, 0, 4, 2, 2];
}
