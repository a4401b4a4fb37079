//! Probability laws, and numbers that follow them. No randomness of its own: the caller brings a stream.

use ackclock_net::Rng;

/// A law within bounds. What falls outside is drawn again, so it is the law on condition that it is within.
#[derive(Clone, PartialEq, Debug)]
pub struct Law {
    /// Its shape.
    pub shape: Shape,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Where a value is what a group of numbers has together: the share of each, in their order. Empty: a
    /// value is a number.
    pub shares: &'static [f64],
}

/// The shape of a law.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    /// Always the same.
    Fixed(f64),
    /// Uniform between two values.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: P(X > x) = (scale / x)^shape from `scale` on.
    Pareto {
        /// The smallest value.
        scale: f64,
        /// The exponent.
        shape: f64,
    },
    /// Pareto that is cut at `most` and moved down by `scale`: what is above becomes `most`.
    CutPareto {
        /// The smallest value before it is moved.
        scale: f64,
        /// The exponent.
        shape: f64,
        /// The largest value before it is moved.
        most: f64,
    },
    /// Pareto that is cut at `most`: what is above becomes `most`.
    CappedPareto {
        /// The smallest value.
        scale: f64,
        /// The exponent.
        shape: f64,
        /// The largest value.
        most: f64,
    },
    /// Normal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// The natural logarithm is normal.
    Lognormal {
        /// The mean of the logarithm.
        mu: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Weibull: P(X > x) = exp(-(x / scale)^shape).
    Weibull {
        /// The scale.
        scale: f64,
        /// The exponent.
        shape: f64,
    },
    /// Gamma with mean `shape * scale`.
    Gamma {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: f64,
    },
}

/// How often a value is drawn until one is within the bounds. A law of which a share of 1 % is within misses
/// them so often once in 10^43 times.
const TRIES: usize = 10_000;
/// The least share of a law that must be within its bounds.
const LEAST: f64 = 0.01;

impl Law {
    /// The law without bounds other than zero.
    pub fn new(shape: Shape) -> Law {
        Law { shape, min: 0.0, max: f64::INFINITY, shares: &[] }
    }

    /// The same within these bounds.
    #[must_use]
    pub fn within(self, min: f64, max: f64) -> Law {
        Law { min, max, ..self }
    }

    /// False if its parameters make no sense, or if hardly anything is within its bounds.
    pub fn is_sound(&self) -> bool {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let shape = match self.shape {
            Shape::Fixed(value) => value.is_finite(),
            Shape::Uniform(from, to) => from.is_finite() && to.is_finite() && from <= to,
            Shape::Exponential(mean) => positive(mean),
            Shape::Pareto { scale, shape } | Shape::Weibull { scale, shape } => {
                positive(scale) && positive(shape)
            }
            Shape::CutPareto { scale, shape, most } | Shape::CappedPareto { scale, shape, most } => {
                positive(scale) && positive(shape) && most > scale
            }
            Shape::Normal { mean, deviation } => mean.is_finite() && positive(deviation),
            Shape::Lognormal { mu, sigma } => mu.is_finite() && positive(sigma),
            Shape::Gamma { shape, scale } => positive(shape) && positive(scale),
        };
        // A stream of its own, always the same: the same law is always sound, or never.
        let mut stream = Rng::new(1, "soundness");
        let within = |value: f64| value >= self.min && value <= self.max;
        const LOOKS: usize = 2_000;
        shape
            && !self.min.is_nan()
            && self.min <= self.max
            && (0..LOOKS).filter(|_| within(self.shape.draw(&mut stream))).count() as f64
                >= LEAST * LOOKS as f64
    }

    /// The same, but a value is what a group of numbers has together, and these are their shares.
    #[must_use]
    pub fn shared(self, shares: &'static [f64]) -> Law {
        Law { shares, ..self }
    }

    /// The next value.
    pub fn draw(&self, stream: &mut Rng) -> f64 {
        let mut value = self.shape.draw(stream);
        for _ in 0..TRIES {
            if value >= self.min && value <= self.max {
                break;
            }
            value = self.shape.draw(stream);
        }
        value.clamp(self.min, self.max)
    }
}

/// Numbers that follow a law, one after the other.
#[derive(Clone, Debug)]
pub struct Numbers {
    law: Law,
    stream: Rng,
    /// The value of the present group, and how many of its numbers there were.
    group: (f64, usize),
}

impl Numbers {
    /// Numbers that are drawn from this stream.
    pub fn new(law: Law, stream: Rng) -> Numbers {
        Numbers { law, stream, group: (0.0, 0) }
    }

    /// The next number.
    pub fn draw(&mut self) -> f64 {
        let Law { shares, .. } = self.law;
        if shares.is_empty() {
            return self.law.draw(&mut self.stream);
        }
        let (value, at) = self.group;
        let value = if at == 0 { self.law.draw(&mut self.stream) } else { value };
        self.group = (value, (at + 1) % shares.len());
        value * shares[at]
    }
}

impl Shape {
    fn draw(self, stream: &mut Rng) -> f64 {
        match self {
            Shape::Fixed(value) => value,
            Shape::Uniform(from, to) => stream.between(from, to),
            Shape::Exponential(mean) => stream.exponential(mean),
            Shape::Pareto { scale, shape } => scale * libm::pow(1.0 - stream.uniform(), -1.0 / shape),
            Shape::CutPareto { scale, shape, most } => {
                (scale * libm::pow(1.0 - stream.uniform(), -1.0 / shape)).min(most) - scale
            }
            Shape::CappedPareto { scale, shape, most } => {
                (scale * libm::pow(1.0 - stream.uniform(), -1.0 / shape)).min(most)
            }
            Shape::Weibull { scale, shape } => scale * libm::pow(stream.exponential(1.0), 1.0 / shape),
            Shape::Normal { mean, deviation } => mean + deviation * stream.normal(),
            Shape::Lognormal { mu, sigma } => libm::exp(mu + sigma * stream.normal()),
            Shape::Gamma { shape, scale } => scale * gamma(shape, stream),
        }
    }
}

/// A gamma variate of scale 1 (G. Marsaglia and W. W. Tsang, "A simple method for generating gamma
/// variables", ACM Transactions on Mathematical Software 26(3), 2000). Below shape 1: section 6 there.
fn gamma(shape: f64, stream: &mut Rng) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, stream) * libm::pow(1.0 - stream.uniform(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = stream.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = 1.0 - stream.uniform();
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}
