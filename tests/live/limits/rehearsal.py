"""Imported by the process that forks each look: what a look imports late is imported once."""

from nettop.facts.joined import Joiner, needs
from nettop.facts.limits.stages import families
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

families()
Joiner().build(Sampler(Live()).take(set(needs())))
