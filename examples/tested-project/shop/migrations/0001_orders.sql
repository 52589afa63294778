CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, price INTEGER NOT NULL, state TEXT NOT NULL);
CREATE INDEX orders_state ON orders (state);
