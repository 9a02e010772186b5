//! Tables of a run for other tools.
