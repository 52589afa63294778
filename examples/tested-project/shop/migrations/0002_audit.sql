-- Every change of state is noted.
CREATE TABLE audit (order_id INTEGER, state TEXT);
CREATE TRIGGER note AFTER UPDATE OF state ON orders BEGIN
  INSERT INTO audit VALUES (new.id, new.state);
END;
