-- number of cells
SELECT count(*) FROM cells_2;
