UPDATE t SET j = '{"m": [3, 4]}' WHERE id = 3; UPDATE t SET j = JSON_SET(j, '$.m', JSON_ARRAY(7)) WHERE id = 1; UPDATE t SET j = JSON_SET(j, '$.m', JSON_ARRAY(1, 2)) WHERE id = 2;
