//! What limits the system? One rule per file; a rule that the evidence does not carry says nothing.

mod concurrency;
mod database;
mod dependency;
mod downstream;
mod draft;
mod generator;
mod load_response;
mod order;
mod per_connection;
mod pool;
mod queue;
mod rate_limit;
mod remark;
mod saturation;
pub(crate) mod signals;
mod two_kinds;
mod waiting;

use run_directory::Run;

use crate::{Findings, Tally, Validity};
use draft::Draft;
use load_response::LoadResponse;
use signals::Signals;
use waiting::Waiting;

/// What the rules look at.
pub(crate) struct Scene<'a> {
    pub(crate) run: &'a Run,
    pub(crate) tally: &'a Tally,
    pub(crate) validity: &'a Validity,
    /// How each request answers to the load.
    pub(crate) responses: Vec<LoadResponse>,
    pub(crate) signals: Signals<'a>,
    /// When work waited; the longest first, flows before requests.
    pub(crate) waiting: Vec<Waiting>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(run: &'a Run, tally: &'a Tally, validity: &'a Validity) -> Self {
        Self {
            run,
            tally,
            validity,
            responses: LoadResponse::of(run, tally),
            signals: Signals::of(run),
            waiting: waiting::find(run, tally),
        }
    }
}

type Rule = fn(&Scene<'_>) -> Option<Draft>;

const RULES: [Rule; 12] = [
    downstream::find,
    pool::find,
    order::find,
    per_connection::find,
    two_kinds::find,
    rate_limit::find,
    saturation::find,
    database::waits,
    dependency::find,
    concurrency::find,
    generator::find,
    queue::find,
];

pub(crate) fn find(scene: &Scene<'_>) -> Findings {
    let mut drafts: Vec<Draft> = RULES.iter().filter_map(|rule| rule(scene)).collect();
    drafts.sort_by_key(|draft| (doubt(draft), draft.standing, std::cmp::Reverse(draft.finding.confidence)));
    let remark = if drafts.is_empty() { remark::of(scene) } else { String::new() };
    Findings { findings: drafts.into_iter().map(|draft| draft.finding).collect(), remark }
}

/// What is said about the target means little while the generator is certain to be the limit, but for waits that dwarf what the generator was
/// late by. Then causes come before what follows from them, and the surest first; the order of the rules decides between equals.
fn doubt(draft: &Draft) -> u8 {
    match draft {
        draft if draft.dwarfs_generator => 0,
        draft if generator::is_certain(&draft.finding) => 1,
        _ => 2,
    }
}
