//! The processors that a release has packages for, each with the names that other formats give it.

use std::env;

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Processor {
    #[value(name = "x86_64")]
    X86_64,
    #[value(name = "aarch64")]
    Aarch64,
}

impl Processor {
    pub(super) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    pub(super) fn own() -> Option<Self> {
        Self::ALL.into_iter().find(|processor| processor.name() == env::consts::ARCH)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The name in Go, which Debian's packages and container images use, too.
    pub(super) fn go_name(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The name in Node, `process.arch`.
    pub(super) fn node_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }

    /// `e_machine` of its programs for Linux (System V ABI, processor supplements).
    pub(super) fn elf_machine(self) -> u64 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }

    /// `cputype` of its programs for macOS (`<mach/machine.h>`).
    pub(super) fn mach_cpu(self) -> u64 {
        match self {
            Self::X86_64 => 0x0100_0007,
            Self::Aarch64 => 0x0100_000c,
        }
    }
}
