"""What django_cf 0.1 leaves to do: NULL arrives as jsnull since Pyodide 0.28, and rows are taken from the end."""

from django_cf.d1_binding.base import DatabaseWrapper as Wrapper
from django_cf.d1_binding.database import D1Database
from pyodide.ffi import jsnull


class Database(D1Database):
    def run_query(self, query, params=None):
        rows, meta = super().run_query(query, params)
        return [
            tuple(None if value is jsnull else value for value in row) for row in reversed(rows)
        ], meta


class DatabaseWrapper(Wrapper):
    Database = Database

    def get_new_connection(self, conn_params):
        return Database(**conn_params)
