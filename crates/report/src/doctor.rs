//! What `loadstone doctor` found: a line for each thing that was looked at, as text and as JSON.

use serde::Serialize;

use crate::terminal::{Paint, Style};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DoctorGrade {
    /// Nothing is in the way.
    Good,
    /// It may cost accuracy, or be in the way of a larger load.
    Note,
    /// The load asked for cannot be made.
    TooLittle,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorLine {
    pub name: &'static str,
    pub grade: DoctorGrade,
    /// What there is.
    pub found: String,
    /// What that means.
    pub means: String,
    /// The command that raises it.
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

/// What was found in a line each, what it means and what raises it below.
pub fn doctor_table(lines: &[DoctorLine], style: &Style) -> String {
    let column = lines.iter().map(|line| line.name.len()).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for line in lines {
        let (paint, mark) = match line.grade {
            DoctorGrade::Good => (Paint::Good, "✓"),
            DoctorGrade::Note => (Paint::Doubt, "!"),
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
        (0, 0) => "\nNothing is in the way.\n".to_owned(),
        (0, notes) => format!("\n{} worth a look; nothing keeps the load from being made.\n", loadstone_units::counted(notes, "thing")),
        (few, _) => format!(
            "\nThis machine cannot make the load asked for: {} in the way.\n",
            if few == 1 { "one thing is".to_owned() } else { format!("{few} things are") }
        ),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_says_what_it_means_and_what_raises_it() {
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
             This machine cannot make the load asked for: one thing is in the way.\n"
        );
        assert!(doctor_table(&lines[..1], &Style::plain(80)).ends_with("Nothing is in the way.\n"));
        assert!(doctor_json(&lines[1..]).contains("\"grade\": \"too_little\""));
    }
}
