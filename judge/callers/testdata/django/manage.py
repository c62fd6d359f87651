import os
import sys

import pymysql
from django.core.management import execute_from_command_line

pymysql.install_as_MySQLdb()
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
execute_from_command_line(sys.argv)
