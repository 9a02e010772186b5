//! The tools, one constant each. To add one, write it in the file of its kind and add it to [`TOOLS`].

mod load;
mod results;
mod system;
mod test_files;

use loadstone_mcp::Tool;

use super::workbench::Workbench;

/// In the order in which a diagnosis uses them.
pub(super) const TOOLS: &[Tool<Workbench>] = &[
    test_files::LIST_TESTS,
    test_files::INSPECT,
    test_files::TRY,
    load::RUN,
    results::VERDICT,
    results::FINDING,
    load::EXPERIMENT,
    results::COMPARE,
    load::CAPACITY,
    system::OBSERVERS,
    system::EXPLAIN,
];
