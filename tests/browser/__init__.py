"""Tests that need a browser: a package, so that pytest ends its fixtures with its last test."""
