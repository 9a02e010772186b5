//! Tables that fit the width: columns of low priority are left out, then the first column is shortened in the middle. If too little would be left of it,
//! it gets its own lines.

use super::style::{Paint, Style, width_of};

/// A column's head. `keep` is the order in which columns are left out when there is no room: the highest number first, 0 never. A column with another
/// number than 0 is also left out if all its cells are empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnHead {
    pub(crate) title: &'static str,
    pub(crate) keep: u8,
    pub(crate) left: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct TextCell {
    pub(crate) text: String,
    pub(crate) paint: Option<Paint>,
}

impl From<String> for TextCell {
    fn from(text: String) -> Self {
        TextCell { text, paint: None }
    }
}

#[derive(Debug)]
pub(crate) enum Row {
    Cells(Vec<TextCell>),
    /// A heading between rows.
    Heading(String),
    /// A title like that of the first column, after a blank line.
    Section(&'static str),
    /// The name of the row below it, in a terminal too narrow for both.
    Name(TextCell),
}

#[derive(Debug)]
pub(crate) struct TextTable {
    pub(crate) heads: Vec<ColumnHead>,
    pub(crate) rows: Vec<Row>,
}

const GAP: usize = 2;
/// The first column is not narrower than this while another column can be left out. Columns.
const NAME_MIN: usize = 24;
/// A first column of less columns than this is no name any more: it gets its own line above the cells.
const NAME_LEGIBLE: usize = 12;

impl TextTable {
    pub(crate) fn render(&self, style: &Style) -> String {
        let natural: Vec<usize> = (0..self.heads.len()).map(|index| self.natural_width(index)).collect();
        let (shown, name_width) = self.fit(&natural, *style);
        if name_width < natural[0].min(NAME_LEGIBLE) {
            return self.with_names_above().render(style);
        }
        let mut out = String::new();
        let head: Vec<TextCell> = self.heads.iter().map(|head| TextCell { text: head.title.to_owned(), paint: Some(Paint::Dim) }).collect();
        self.line(&head, &natural, &shown, name_width, style, &mut out);
        for row in &self.rows {
            match row {
                Row::Cells(cells) => self.line(cells, &natural, &shown, name_width, style, &mut out),
                Row::Heading(text) => {
                    out.push_str(&format!("{}\n", style.paint(Paint::Bold, &style.name(text, style.width))));
                }
                Row::Section(title) => out.push_str(&format!("\n{}\n", style.paint(Paint::Dim, title))),
                Row::Name(cell) => {
                    let name = style.name(&cell.text, style.width);
                    out.push_str(&format!("{}\n", cell.paint.map_or_else(|| name.clone(), |paint| style.paint(paint, &name))));
                }
            }
        }
        out
    }

    /// The same table with each name on the line above its cells.
    fn with_names_above(&self) -> Self {
        let mut heads = self.heads.clone();
        heads[0].title = "";
        let mut rows = Vec::new();
        for row in &self.rows {
            match row {
                Row::Cells(cells) => {
                    let mut cells = cells.clone();
                    rows.push(Row::Name(std::mem::replace(&mut cells[0], TextCell::from(String::new()))));
                    rows.push(Row::Cells(cells));
                }
                Row::Heading(text) => rows.push(Row::Heading(text.clone())),
                Row::Section(title) => rows.push(Row::Section(title)),
                Row::Name(name) => rows.push(Row::Name(name.clone())),
            }
        }
        TextTable { heads, rows }
    }

    fn natural_width(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => cells.get(index).map(|cell| width_of(&cell.text)),
            Row::Heading(_) | Row::Section(_) | Row::Name(_) => None,
        });
        cells.chain([width_of(self.heads[index].title)]).max().unwrap_or(0)
    }

    fn is_empty(&self, index: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => cells.get(index),
            Row::Heading(_) | Row::Section(_) | Row::Name(_) => None,
        });
        cells.all(|cell| cell.text.is_empty())
    }

    /// Which columns are shown, and the width of the first one.
    fn fit(&self, natural: &[usize], Style { width, whole_names, .. }: Style) -> (Vec<bool>, usize) {
        let wanted = natural[0].min(NAME_MIN);
        let mut shown: Vec<bool> = (0..self.heads.len()).map(|index| self.heads[index].keep == 0 || !self.is_empty(index)).collect();
        loop {
            let others: usize = (1..shown.len()).filter(|index| shown[*index]).map(|index| natural[index] + GAP).sum();
            let left = width.saturating_sub(others);
            let goes =
                (1..shown.len()).filter(|index| shown[*index] && self.heads[*index].keep > 0).max_by_key(|index| self.heads[*index].keep);
            match goes {
                Some(index) if left < wanted => shown[index] = false,
                // A longer name widens its line, and not all others.
                _ if whole_names => return (shown, natural[0].min(left.max(NAME_MIN))),
                _ => return (shown, left.min(natural[0])),
            }
        }
    }

    fn line(&self, cells: &[TextCell], natural: &[usize], shown: &[bool], name_width: usize, style: &Style, out: &mut String) {
        let mut line = String::new();
        for (index, cell) in cells.iter().enumerate().filter(|(index, _)| shown[*index]) {
            let text = if index == 0 { style.name(&cell.text, name_width) } else { cell.text.clone() };
            let column_width = if index == 0 { name_width } else { natural[index] };
            let padding = " ".repeat(column_width.saturating_sub(width_of(&text)));
            if index > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let painted = cell.paint.map_or_else(|| text.clone(), |paint| style.paint(paint, &text));
            if self.heads[index].left {
                line.push_str(&painted);
                line.push_str(&padding);
            } else {
                line.push_str(&padding);
                line.push_str(&painted);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_content_is_left_out_unless_it_never_gives_way() {
        let heads = [("Name", 0), ("Count", 0), ("Limit", 3), ("Load", 2)];
        let heads = heads.map(|(title, keep)| ColumnHead { title, keep, left: false }).to_vec();
        let row = |load: &str| Row::Cells(["CPU", "", "", load].map(|text| TextCell::from(text.to_owned())).to_vec());
        let table = TextTable { heads, rows: vec![row(""), Row::Section("More"), row("5 %")] };
        let text = table.render(&Style::plain(100));
        assert!(text.contains("Count") && text.contains("Load") && !text.contains("Limit"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_shows_names_above_their_cells() {
        let heads = ["", "First", "Then", "Verdict"].map(|title| ColumnHead { title, keep: 0, left: false }).to_vec();
        let row = |name: &str| Row::Cells([name, "114 ms", "63.5 ms", "cannot tell"].map(|text| TextCell::from(text.to_owned())).to_vec());
        let table = TextTable { heads, rows: vec![row("95th percentile"), Row::Heading("Check out".to_owned()), row("p50")] };
        let wide = table.render(&Style::plain(60));
        assert!(wide.contains("95th percentile  114 ms"), "{wide}");
        let narrow = table.render(&Style::plain(40));
        assert!(narrow.contains("95th percentile\n  114 ms  63.5 ms  cannot tell\nCheck out\np50\n  114 ms"), "{narrow}");
    }

    #[test]
    fn a_whole_name_longer_than_the_table_does_not_move_the_other_rows() {
        let heads = ["Signals", "Mean"].map(|title| ColumnHead { title, keep: 0, left: title == "Signals" }).to_vec();
        let row = |name: String| Row::Cells([name, "0.3".to_owned()].map(TextCell::from).to_vec());
        let table = TextTable { heads, rows: vec![row("cpu".to_owned()), row("select ".repeat(30))] };
        let text = table.render(&Style { whole_names: true, ..Style::plain(60) });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0].len(), lines[1].len()), (60, 60), "{text}");
        assert!(lines[2].starts_with("select select ") && lines[2].ends_with("0.3") && lines[2].len() > 200, "{text}");
    }
}
