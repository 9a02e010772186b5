//! Options of `cargo xtask bench`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub(crate) struct BenchOptions {
    /// Seconds of load for each turn of each generator.
    #[arg(long, default_value_t = 10)]
    pub(super) seconds: u32,
    /// Turns of each generator.
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: u32,
    /// Keep-alive connections (users).
    #[arg(long, default_value_t = 50)]
    pub(super) users: u32,
    /// Only generators whose name contains this; wrk always runs, as the measure. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    pub(super) only: Vec<String>,
    /// Measure this binary instead of building the release one.
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
    /// Also measure what an idle user with an open connection weighs (some minutes).
    #[arg(long)]
    pub(super) idle: bool,
    /// Also watch the memory for this many minutes at full rate.
    #[arg(long, value_name = "MINUTES")]
    pub(super) flat: Option<u32>,
    /// Install the other generators at fixed versions (some minutes), and measure nothing.
    #[arg(long)]
    pub(super) install: bool,
    /// Print the table without writing it to bench/results.
    #[arg(long)]
    pub(super) dry: bool,
}
