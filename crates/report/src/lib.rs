//! Renderings of a run for people and machines: terminal, HTML, JUnit, Markdown.
//!
//! Read [`ReportView`] first: plain data that every renderer draws, live and finished alike. Deliberately absent: any
//! computation of a number that `analysis` did not make, downsampling for display apart.

mod view;

pub use view::{Band, Column, HeatMap, MarkView, Panel, ReportView, RunState, TestView, Timeline};
