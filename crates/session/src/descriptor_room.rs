//! Checks whether the open-files limit suffices for the connections of a plan. A user needs at least one connection.

use loadstone_engine::DescriptorTables;
use loadstone_plan::{Load, LoadProfile, OpenStage, ScenarioRun};
use loadstone_platform::descriptors::{CAN_SPLIT, raise_limit};
use loadstone_units::count;

/// The limit is too low for the users that a plan is certain to need.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RoomError(String);

/// Descriptors per table that are not connections.
const OTHER_DESCRIPTORS: u64 = 100;

/// A process needs this many descriptors before it opens any connection: standard streams, event loops, signals, the run directory.
const DESCRIPTORS_MIN: u64 = 32;

/// Checks that this process can start at all. Raises its limit to the maximum.
///
/// # Errors
/// [`RoomError`]
pub fn check_descriptors() -> Result<(), RoomError> {
    startable(raise_limit())
}

fn startable(limit: u64) -> Result<(), RoomError> {
    if limit >= DESCRIPTORS_MIN {
        return Ok(());
    }
    Err(RoomError(format!(
        "this process may open only {}: raise the limit to at least {DESCRIPTORS_MIN} (`ulimit -n`, or LimitNOFILE= of the service)",
        loadstone_units::counted(limit, "file")
    )))
}

/// How the workers of a run share descriptors in this process, whose limit is raised to its maximum. `workers`: in all processes.
///
/// # Errors
/// [`RoomError`]
pub fn descriptor_tables(load: &Load, workers: u32) -> Result<DescriptorTables, RoomError> {
    let limit = raise_limit();
    if CAN_SPLIT { tables(load, workers, limit) } else { one_table(load, limit) }
}

/// How the workers of a run share descriptors: one table for all, which `limit` bounds, or a separate table for each worker if one may not suffice.
///
/// # Errors
/// [`RoomError`] if even separate tables are too small for the users that the plan is certain to need. The message has the remedy.
fn tables(load: &Load, workers: u32, limit: u64) -> Result<DescriptorTables, RoomError> {
    let (certain, possible) = (load.users_certain(), load.users_at_once(&possible));
    if possible.saturating_add(OTHER_DESCRIPTORS) <= limit {
        return Ok(DescriptorTables::OneForAll);
    }
    let each = limit.saturating_sub(OTHER_DESCRIPTORS);
    if certain.div_ceil(workers.into()) <= each {
        return Ok(DescriptorTables::OneEach);
    }
    let raise = certain.div_ceil(workers.into()) + OTHER_DESCRIPTORS;
    let or_raise = format!("raise the limit (`ulimit -n {raise}`, or LimitNOFILE= of the service)");
    let need = format!("{} users need at least as many open connections", count(certain));
    let files = count(limit);
    Err(RoomError(if each == 0 {
        format!(
            "{need}, and Loadstone needs up to {OTHER_DESCRIPTORS} files for itself, but this process may open only {files}: {or_raise}; users \
             with several requests at once need more"
        )
    } else {
        let room = count(each * u64::from(workers));
        format!(
            "{need}, and {workers} workers have room for {room} (each may open {files} files): run with --workers {}, or {or_raise}",
            certain.div_ceil(each)
        )
    }))
}

/// The same on a system with one table for all threads. Users beyond the certain ones may find no descriptor: the run then reports that.
///
/// # Errors
/// [`RoomError`] if it is too small for the users that the plan is certain to need.
fn one_table(load: &Load, limit: u64) -> Result<DescriptorTables, RoomError> {
    let certain = load.users_certain();
    let needed = certain.saturating_add(OTHER_DESCRIPTORS);
    if needed <= limit {
        return Ok(DescriptorTables::OneForAll);
    }
    Err(RoomError(format!(
        "{} users need at least as many open connections, but this process may open only {}: raise the limit (`ulimit -n {needed}`, after `sudo \
         sysctl kern.maxfilesperproc={needed}`)",
        count(certain),
        loadstone_units::counted(limit, "file")
    )))
}

/// Open load has as many users as there are responses outstanding: at most one per arrival.
fn possible(run: &ScenarioRun) -> u64 {
    match &run.profile {
        LoadProfile::Open { stages } => {
            let arrivals = stages.iter().map(OpenStage::arrivals).sum::<f64>().ceil() as u64;
            arrivals.min(run.users_max.unwrap_or(ScenarioRun::DEFAULT_USERS_MAX))
        }
        _ => run.users_certain(),
    }
}

#[cfg(test)]
mod tests {
    use loadstone_plan::{ClosedStage, ScenarioId, Timing};

    use super::*;

    fn run(profile: LoadProfile, users_max: Option<u64>) -> Load {
        Load::Run(ScenarioRun { users_max, ..ScenarioRun::new(ScenarioId(0), profile) })
    }

    fn users(count: u64) -> Load {
        run(LoadProfile::Closed { stages: vec![ClosedStage { from: 0, to: count, duration_ns: 1 }] }, None)
    }

    /// Arrivals for ten seconds.
    fn arrivals(per_second: f64, users_max: Option<u64>) -> Load {
        let stage = OpenStage::Rate { from: per_second, to: per_second, duration_ns: 10_000_000_000, timing: Timing::Even };
        run(LoadProfile::Open { stages: vec![stage] }, users_max)
    }

    #[track_caller]
    fn check(load: Load, (workers, limit): (u32, u64), expected: Result<DescriptorTables, &str>) {
        match (tables(&load, workers, limit).map_err(|error| error.0), expected) {
            (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
            (got, expected) => assert_eq!(got, expected.map_err(str::to_owned)),
        }
    }

    #[test]
    fn a_process_that_cannot_open_its_own_files_does_not_start() {
        assert_eq!(startable(DESCRIPTORS_MIN).map_err(|error| error.0), Ok(()));
        let refused = startable(9).unwrap_err().0;
        assert_eq!(
            refused,
            "this process may open only 9 files: raise the limit to at least 32 (`ulimit -n`, or LimitNOFILE= of the service)"
        );
    }

    #[test]
    fn one_table_is_used_if_it_suffices() {
        check(users(900), (2, 1_000), Ok(DescriptorTables::OneForAll));
        check(users(901), (2, 1_000), Ok(DescriptorTables::OneEach));
        check(users(1_800), (2, 1_000), Ok(DescriptorTables::OneEach));
        check(users(43_000), (3, 20_000), Ok(DescriptorTables::OneEach));
    }

    #[test]
    fn a_system_with_one_table_has_room_for_what_fits_into_it() {
        let with = |load: Load| one_table(&load, 1_000).map_err(|error| error.0);
        assert_eq!(with(users(900)), Ok(DescriptorTables::OneForAll));
        assert_eq!(with(arrivals(1e6, None)), Ok(DescriptorTables::OneForAll), "it may need fewer");
        let refused = with(users(901)).unwrap_err();
        assert!(refused.contains("may open only 1,000 files") && refused.contains("`ulimit -n 1001`"), "{refused}");
    }

    #[test]
    fn sequential_load_needs_its_descriptors_once() {
        check(Load::Sequence(vec![users(800), users(800)]), (2, 1_000), Ok(DescriptorTables::OneForAll));
        check(Load::Parallel(vec![users(800), users(800)]), (2, 1_000), Ok(DescriptorTables::OneEach));
    }

    #[test]
    fn open_load_may_need_descriptors_but_is_never_certain_to() {
        check(arrivals(90.0, None), (2, 1_000), Ok(DescriptorTables::OneForAll));
        check(arrivals(91.0, None), (2, 1_000), Ok(DescriptorTables::OneEach));
        check(arrivals(91.0, Some(900)), (2, 1_000), Ok(DescriptorTables::OneForAll));
        check(arrivals(1e6, None), (2, 64), Ok(DescriptorTables::OneEach));
    }

    #[test]
    fn too_few_descriptors_are_reported_with_a_remedy() {
        let most =
            "2 workers have room for 39,800 (each may open 20,000 files): run with --workers 3, or raise the limit (`ulimit -n 21600`";
        check(users(43_000), (2, 20_000), Err(most));
        check(users(10), (2, 64), Err("up to 100 files for itself, but this process may open only 64: raise the limit (`ulimit -n 105`"));
    }
}
