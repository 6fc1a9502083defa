"""Finding tools: text analysis for Chinese and English, the index, ranking and its evaluation."""
