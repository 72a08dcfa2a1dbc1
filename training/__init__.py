"""How the shipped term table is made: packages → pairs → vocabulary → table. Not part of the wheel."""
