"""Adversaries who follow a truck: what filters and the map make of its published positions.

median, smoother       filters that know nothing of roads
map-matching           a hidden Markov model on roads, for noise that is drawn afresh
informed               the same with the mechanism's own distribution, from report to report
colluding recipients   the same for noisy distances to several places
"""
