//! A sheet of characters on which lines join by themselves.
//!
//! Reads nothing, writes nothing. Invariant: lines of one owner join where they meet; of two owners the upright one goes
//! over the level one.

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// Owner of frames, which join every line.
const SHARED: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
struct Dot {
    ways: u8,
    owner: usize,
    letter: Option<char>,
}

const BLANK: Dot = Dot { ways: 0, owner: SHARED, letter: None };

#[derive(Debug)]
pub(super) struct Canvas {
    width: usize,
    rows: Vec<Vec<Dot>>,
}

impl Canvas {
    pub(super) fn new(width: usize) -> Self {
        Self { width, rows: Vec::new() }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn grow(&mut self, rows: usize) {
        self.rows.resize(self.rows.len() + rows, vec![BLANK; self.width]);
    }

    pub(super) fn write(&mut self, left: usize, row: usize, text: &str) {
        for (n, letter) in text.chars().enumerate() {
            self.rows[row][left + n].letter = Some(letter);
        }
    }

    pub(super) fn frame(&mut self, left: usize, top: usize, width: usize, tall: usize) {
        let (right, bottom) = (left + width - 1, top + tall - 1);
        self.across(left, right, top, SHARED);
        self.across(left, right, bottom, SHARED);
        self.down(left, top, bottom, SHARED);
        self.down(right, top, bottom, SHARED);
    }

    pub(super) fn across(&mut self, first: usize, last: usize, row: usize, owner: usize) {
        for column in first..=last {
            let right = if column < last { RIGHT } else { 0 };
            let left = if column > first { LEFT } else { 0 };
            self.join(column, row, left | right, owner);
        }
    }

    pub(super) fn down(&mut self, column: usize, first: usize, last: usize, owner: usize) {
        for row in first..=last {
            let down = if row < last { DOWN } else { 0 };
            let up = if row > first { UP } else { 0 };
            self.join(column, row, up | down, owner);
        }
    }

    fn join(&mut self, column: usize, row: usize, ways: u8, owner: usize) {
        let dot = &mut self.rows[row][column];
        let strangers = dot.ways != 0 && dot.owner != SHARED && owner != SHARED && dot.owner != owner;
        if !strangers {
            dot.ways |= ways;
            dot.owner = if owner == SHARED { dot.owner } else { owner };
        } else if ways & (UP | DOWN) != 0 {
            (dot.ways, dot.owner) = (ways, owner);
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| row.iter().map(|dot| dot.letter.unwrap_or(joint(dot.ways))).collect())
    }
}

fn joint(ways: u8) -> char {
    const JOINTS: [char; 16] = [' ', '│', '│', '│', '─', '╯', '╮', '┤', '─', '╰', '╭', '├', '─', '┴', '┬', '┼'];
    JOINTS[usize::from(ways & 15)]
}
