"""Tests of the sandbox gateway; they need neither Django's database nor another app."""
