-- copies: what a copy is called by its direction.

-- The word for CUPTI's number of a copy's direction, NULL where it tells none. Arrays (a) are device
-- memory laid out for textures.
CREATE OR REPLACE MACRO copy_word(copy_kind) AS
    [
        NULL, 'h2d', 'd2h', 'h2a', 'a2h', 'a2a', 'a2d', 'd2a', 'd2d', 'h2h', 'p2p', 'uvm_h2d', 'uvm_d2h', 'uvm_d2d'
    ][copy_kind + 1];
