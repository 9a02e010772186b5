//! The live progress, on a terminal and in a pipe.

use loadstone_analysis::{Grade, ThresholdState};
use loadstone_report::terminal::{Progress, ProgressMode, Screen, Style};

use crate::fixtures::{self, SECOND};
use crate::summary::assert_fits;

fn after(seconds: u32) -> Progress {
    let mut progress = Progress::new(&fixtures::plan());
    (0..seconds).for_each(|number| progress.push(&fixtures::slice(number)));
    progress
}

#[test]
fn the_block_at_80_columns() {
    let mut progress = after(32);
    let thresholds = [
        fixtures::threshold("requests at least 1,000", ThresholdState::Pending, None, ""),
        loadstone_analysis::ThresholdResult {
            reading: "so far the failed share was 0 %".to_owned(),
            ..fixtures::threshold("failures below 1 %", ThresholdState::Pending, Some(0.0), "")
        },
        loadstone_analysis::ThresholdResult {
            failing: true,
            reading: "so far p50 was 14.0 ms".to_owned(),
            ..fixtures::threshold("response time p50 below 10 ms", ThresholdState::Pending, Some(0.014), "")
        },
        fixtures::threshold(
            "response time p99 of \"Create ticket\" below 15 ms over 10 s, after the first 10 s",
            ThresholdState::Failed,
            None,
            "",
        ),
    ];
    progress.judge(&fixtures::validity(Grade::Suspect), &thresholds);
    let block = progress.block(32 * SECOND, &Style::plain(80)).join("\n");
    assert_fits(&block, 80);
    insta::assert_snapshot!(block);
}

#[test]
fn the_planned_rate_is_absent_while_only_closed_load_runs() {
    let mut progress = Progress::new(&fixtures::plan());
    for number in 0..6 {
        let mut slice = fixtures::slice(number);
        slice.leaves.iter_mut().for_each(|leaf| (leaf.arrivals_due, leaf.started) = (0, 0));
        progress.push(&slice);
    }
    let line = progress.line(6 * SECOND);
    assert!(line.starts_with("0:06 / 1:00 · 100/s requests · ") && !line.contains("asked"), "{line}");
}

#[test]
fn the_block_before_anything_happened() {
    insta::assert_snapshot!(after(0).block(0, &Style::plain(60)).join("\n"));
}

#[test]
fn the_block_fits_any_width_and_a_few_lines() {
    let mut progress = after(3);
    progress.judge(&fixtures::validity(Grade::Invalid), &fixtures::failed_summary().verdict.thresholds);
    for width in [20, 40, 60, 80, 140] {
        let block = progress.block(3 * SECOND, &Style::plain(width));
        assert!(block.len() <= 6 + 3, "a line for each threshold");
        assert_fits(&block.join("\n"), width);
    }
}

#[test]
fn a_pipe_gets_a_plain_line_every_five_seconds() {
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, ProgressMode::LINES, Style::plain(80));
    let mut progress = Progress::new(&fixtures::plan());
    for number in 0..12 {
        progress.push(&fixtures::slice(number));
        screen.draw(&progress, u64::from(number + 1) * SECOND).unwrap();
    }
    screen.message("a line of the script").unwrap();
    screen.finish().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
    insta::assert_snapshot!(text);
}

/// Replays the few control sequences that the block uses on a screen of lines. Fails on any other sequence.
fn terminal(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let mut lines: Vec<String> = vec![String::new()];
    let mut row = 0;
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(String::new());
                }
            }
            '\x1b' => {
                let end = rest.find(|c: char| c.is_ascii_alphabetic()).expect("a control sequence has an end");
                let (sequence, command) = (&rest[1..end], &rest[end..=end]);
                rest = &rest[end + 1..];
                match (sequence, command) {
                    ("?2026", "h" | "l") => {}
                    ("", "K") => lines[row].clear(),
                    ("", "J") => {
                        lines.truncate(row);
                        lines.push(String::new());
                    }
                    (up, "F") => row -= up.parse::<usize>().expect("a number of lines"),
                    other => panic!("unexpected control sequence {other:?}"),
                }
            }
            c => lines[row].push(c),
        }
    }
    lines
}

#[test]
fn the_block_is_redrawn_in_place_and_leaves_nothing_behind() {
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, ProgressMode::BLOCK, Style::plain(80));
    let mut progress = after(1);
    screen.draw(&progress, SECOND).unwrap();
    screen.message("hello from the script").unwrap();
    for number in 1..4 {
        progress.push(&fixtures::slice(number));
        screen.draw(&progress, u64::from(number + 1) * SECOND).unwrap();
    }
    let shown = terminal(&out);
    let mut expected = vec!["hello from the script".to_owned()];
    expected.extend(progress.block(4 * SECOND, &Style::plain(80)));
    expected.push(String::new());
    assert_eq!(shown, expected);

    let mut screen = Screen::new(&mut out, ProgressMode::BLOCK, Style::plain(80));
    screen.draw(&progress, 0).unwrap();
    screen.finish().unwrap();
    assert_eq!(terminal(&out).iter().filter(|line| line.starts_with("rate")).count(), 1, "only the first screen's block stays");
}

#[test]
fn redraws_are_limited_to_two_per_second() {
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, ProgressMode::BLOCK, Style::plain(80));
    let progress = after(1);
    for tenth in 0..100u64 {
        screen.draw(&progress, tenth * SECOND / 10).unwrap();
    }
    let frames = String::from_utf8(out).unwrap().matches("\x1b[?2026h").count();
    assert_eq!(frames, 20);
}
