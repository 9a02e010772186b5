//! The results of `loadstone doctor`: a line for each check, as text and as JSON.

use serde::Serialize;

use crate::terminal::{Paint, Style};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DoctorGrade {
    /// No problem.
    Good,
    /// It may reduce accuracy, or limit a larger load.
    Note,
    /// This machine cannot generate the requested load.
    TooLittle,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorLine {
    pub name: &'static str,
    pub grade: DoctorGrade,
    /// The measured value.
    pub found: String,
    /// The consequence.
    pub means: String,
    /// The command that raises the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raise: Option<String>,
}

impl DoctorLine {
    #[must_use]
    pub fn raised_by(mut self, command: impl Into<String>) -> Self {
        self.raise = Some(command.into());
        self
    }
}

pub fn doctor_json(lines: &[DoctorLine]) -> String {
    serde_json::to_string_pretty(lines).unwrap_or_default() + "\n"
}

/// One line for each result, followed by its consequence and the command that raises the limit.
pub fn doctor_table(lines: &[DoctorLine], style: &Style) -> String {
    let column = lines.iter().map(|line| line.name.len()).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for line in lines {
        let (paint, mark) = match line.grade {
            DoctorGrade::Good => (Paint::Good, "✓"),
            DoctorGrade::Note => (Paint::Warning, "!"),
            DoctorGrade::TooLittle => (Paint::Bad, "✗"),
        };
        let name = format!("{}{}", line.name, " ".repeat(column - line.name.len()));
        text.push_str(&format!("{} {}{}\n", style.paint(paint, mark), style.paint(Paint::Bold, &name), line.found));
        let indent = " ".repeat(column + 2);
        text.push_str(&format!("{indent}{}\n", style.paint(Paint::Dim, &line.means)));
        if let Some(raise) = &line.raise {
            text.push_str(&format!("{indent}→ {raise}\n"));
        }
    }
    let count = |grade| lines.iter().filter(|line| line.grade == grade).count() as u64;
    text.push_str(&match (count(DoctorGrade::TooLittle), count(DoctorGrade::Note)) {
        (0, 0) => "\nNo problems found.\n".to_owned(),
        (0, notes) => format!("\n{}; this machine can generate the requested load.\n", loadstone_units::counted(notes, "warning")),
        (few, _) => format!(
            "\nThis machine cannot generate the requested load: {} too low.\n",
            if few == 1 { "one limit is".to_owned() } else { format!("{few} limits are") }
        ),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_shows_its_consequence_and_what_raises_it() {
        let line = |grade, raise: Option<&str>| DoctorLine {
            name: "ports",
            grade,
            found: "28,232".to_owned(),
            means: "as many connections".to_owned(),
            raise: raise.map(str::to_owned),
        };
        let lines = [line(DoctorGrade::Good, None), line(DoctorGrade::TooLittle, Some("sysctl -w x=1"))];
        assert_eq!(
            doctor_table(&lines, &Style::plain(80)),
            "✓ ports  28,232\n         as many connections\n✗ ports  28,232\n         as many connections\n         → sysctl -w x=1\n\n\
             This machine cannot generate the requested load: one limit is too low.\n"
        );
        assert!(doctor_table(&lines[..1], &Style::plain(80)).ends_with("No problems found.\n"));
        assert!(doctor_json(&lines[1..]).contains("\"grade\": \"too_little\""));
    }
}
