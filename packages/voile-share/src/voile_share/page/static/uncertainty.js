/**
 * How far from the truth a position may be.
 *
 * The noise of a position is Gaussian with the mean displacement 2 / epsilon.  The length of such a
 * displacement has a Rayleigh law, whose mean is s sqrt(pi / 2): so s = 2 / (epsilon sqrt(pi / 2))
 * on each axis, and P(length <= r) = 1 - exp(-r^2 / (2 s^2)), which is 90 % at s sqrt(2 ln 10).
 */

/** The share that every circle of this page holds: the noise alone decides it. */
export const SHARE = 0.9;

/** Standard deviation on each axis, in metres. */
export const deviation = (epsilon) => 2 / (epsilon * Math.sqrt(Math.PI / 2));

/** The radius, in metres, within which a position is off in 90 of 100 reports. */
export const radius = (epsilon) => deviation(epsilon) * Math.sqrt(-2 * Math.log(1 - SHARE));
