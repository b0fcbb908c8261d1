"""An OpenRouter-compatible gateway whose upstream providers misbehave on script."""
