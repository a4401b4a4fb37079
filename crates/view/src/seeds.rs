//! Several seeds of the same point in one row: means with their 95 % confidence intervals.

/// Student's t for a two-sided interval of 95 %, for 1, 2, ... degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Student's t for this number of degrees of freedom, at least 1.
fn student(freedom: usize) -> f64 {
    // Beyond the table the first terms of the expansion in 1 / freedom are exact to three digits.
    STUDENT.get(freedom - 1).copied().unwrap_or(1.96 + 2.372 / freedom as f64)
}

/// The mean, and half the width of its 95 % confidence interval. The interval needs two values.
fn interval(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let half = |freedom: usize| student(freedom) * (squares / freedom as f64 / n).sqrt();
    (mean, values.len().checked_sub(1).filter(|&freedom| freedom > 0).map(half))
}

/// Merges rows that differ only in the column `seed`. The first `words` columns are words. The seed column
/// becomes the number of seeds. The other columns become means with the same number of digits.
pub(super) fn averaged(rows: &[Vec<String>], seed: usize, words: usize) -> Vec<Vec<String>> {
    let mut merged: Vec<(Vec<&String>, Vec<&Vec<String>>)> = Vec::new();
    for row in rows {
        let key: Vec<&String> =
            (0..words).filter(|&column| column != seed).map(|column| &row[column]).collect();
        match merged.iter_mut().find(|(known, _)| *known == key) {
            Some((_, same)) => same.push(row),
            None => merged.push((key, vec![row])),
        }
    }
    let row = |same: &Vec<&Vec<String>>| {
        let cell = |(column, text): (usize, &String)| match column {
            _ if column == seed => same.len().to_string(),
            _ if column < words => text.clone(),
            _ => mean(&same.iter().map(|row| &*row[column]).collect::<Vec<_>>()),
        };
        same[0].iter().enumerate().map(cell).collect()
    };
    merged.iter().map(|(_, same)| row(same)).collect()
}

/// The mean of numbers as written, and its interval; a dash if none has a value.
fn mean(cells: &[&str]) -> String {
    let values: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
    if values.is_empty() {
        return "-".to_owned();
    }
    let scientific = cells.iter().any(|cell| cell.contains('e'));
    let digits =
        |cell: &&str| cell.split('.').nth(1).map_or(0, |rest| rest.split('e').next().unwrap_or(rest).len());
    let digits = cells.iter().map(digits).max().unwrap_or(0);
    let counts = digits == 0 && values.iter().any(|value| *value != values[0]);
    let shown = |value: f64| match scientific {
        true => format!("{value:.digits$e}"),
        false => format!("{value:.0$}", if counts { 1 } else { digits }),
    };
    match interval(&values) {
        (mean, Some(half)) if half > 0.0 => format!("{} ± {}", shown(mean), shown(half)),
        (mean, _) => shown(mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_become_a_mean_with_its_interval() {
        // Mean 10, standard deviation 1: half the width is 4.303 / sqrt(3).
        let row = |seed: &str, label: &str, value: &str, count: &str| {
            [seed, label, value, count].map(str::to_owned).to_vec()
        };
        let rows = [
            row("1", "a", "9.00", "7"),
            row("1", "b", "1.00", "0"),
            row("2", "a", "10.00", "7"),
            row("2", "b", "-", "1"),
            row("3", "a", "11.00", "7"),
            row("3", "b", "-", "2"),
        ];
        let all: Vec<String> = averaged(&rows, 0, 2).iter().map(|row| row.join(" | ")).collect();
        assert_eq!(all, ["3 | a | 10.00 ± 2.48 | 7", "3 | b | 1.00 | 1.0 ± 2.5"]);
        assert!((student(30) - student(31)).abs() < 0.01 && (student(120) - 1.98).abs() < 0.001);
    }
}
