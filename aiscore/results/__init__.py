"""Result files and reference scores."""
