"""Noise for positions on the earth: mechanisms, their distributions, and what reports cost.

    planar-laplace      every report by itself, geo-indistinguishable
    angle-selection     the seed's: the direction of the noise hardly turns between reports
    correlated-gaussian noise that remembers, exactly Gaussian-DP for whole trajectories
    gaussian-field      noise that stays with the place, for stops and for many days
    remaining-distance  no position at all: the noisy distance that is left

Distances are metres, times seconds, and epsilon is per metre (1/m) wherever it is about positions.
"""
