"""Changes, relations and a symptom become a ranked explanation. Pure: no files, no clock, no environment."""
