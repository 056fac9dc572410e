"""page.py PAGE.html: the report that the page holds, on standard output."""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    print(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', file.read(), re.S).group(1))
