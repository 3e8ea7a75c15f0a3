"""Publishes the project's own figures: what is made of reports/published, and tables on pages. No course needs it."""
