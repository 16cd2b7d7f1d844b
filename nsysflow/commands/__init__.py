"""One module per command; each imports what it calls only when it is called."""

from __future__ import annotations

from nsysflow.commands.analyse import analyse
from nsysflow.commands.analyses import analyses
from nsysflow.commands.convert import convert
from nsysflow.commands.demo import demo
from nsysflow.commands.doctor import doctor
from nsysflow.commands.render import render
from nsysflow.commands.report import report
from nsysflow.commands.sql import sql

ALL = (report, convert, analyse, render, sql, analyses, doctor, demo)
